import { describe, expect, test } from "vitest";
import { encodeFrame, type Frame, FrameDecoder } from "../../../src/keeper/link/link.ts";

function decode(chunks: readonly Uint8Array[]): Frame<unknown>[] {
	const decoder = new FrameDecoder();
	const frames = chunks.flatMap((chunk) => [...decoder.push(chunk)]);
	return frames.map(({ header, body }) => ({ header, body: Buffer.from(body) }));
}

describe("frames", () => {
	test("a frame is a length, a header and raw bytes", () => {
		expect(Buffer.concat(encodeFrame({ id: 1 }, Uint8Array.of(0xff, 0)))).toEqual(
			Buffer.from([
				...[0, 0, 0, 12], // length of the rest
				...[0, 8], // length of the header
				...Buffer.from('{"id":1}'),
				...[0xff, 0x00], // body
			]),
		);
	});

	test("a frame without bytes is one part", () => {
		expect(encodeFrame({ ok: true })).toHaveLength(1);
	});

	test("a frame is decoded wherever the stream is cut", () => {
		const frames = [
			{ header: { a: 1 }, body: Buffer.from("one") },
			{ header: { b: "zwölf" }, body: Buffer.alloc(0) },
			{ header: { c: [] }, body: Buffer.alloc(300, 9) },
		];
		const stream = Buffer.concat(frames.flatMap(({ header, body }) => encodeFrame(header, body)));
		expect(decode([stream])).toEqual(frames);
		for (let cut = 1; cut < stream.length; cut++) {
			expect(decode([stream.subarray(0, cut), stream.subarray(cut)])).toEqual(frames);
		}
		expect(decode([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(frames);
	});

	test("a frame may have a header of any length up to its limit", () => {
		for (const length of [65_533, 65_534, 65_535, 65_536, 3_000_000]) {
			const header = "x".repeat(length - 2);
			const [head] = encodeFrame(header);
			expect(decode([head as Uint8Array])).toEqual([{ header, body: Buffer.alloc(0) }]);
			expect((head as Buffer).readUInt16BE(4)).toBe(length < 65_535 ? length : 0xffff);
		}
	});

	test("a frame that the peer would refuse is refused by the sender", () => {
		const refusal = expect.objectContaining({ code: "limit_exceeded" });
		expect(() => encodeFrame({}, new Uint8Array(16 * 1024 * 1024))).toThrow(refusal);
	});

	test("a frame that is too large, or whose header exceeds it, is an error", () => {
		expect(() => decode([Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0])])).toThrow("a frame of");
		expect(() => decode([Buffer.from([0, 0, 0, 4, 0, 9, 1, 2])])).toThrow("longer than its frame");
		expect(() => decode([Buffer.from([0, 0, 0, 7, 0xff, 0xff, 0, 0, 0, 9, 1])])).toThrow("longer than its frame");
		for (const bytes of [[0], [0xff, 0xff], [0xff, 0xff, 0, 0, 0]]) {
			expect(() => decode([Buffer.from([0, 0, 0, bytes.length, ...bytes])])).toThrow(/header/);
		}
	});
});
