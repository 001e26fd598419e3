import { describe, expect, test } from "vitest";
import { encodeFrame, type Frame, FrameDecoder } from "../../src/link/link.ts";

function decode(chunks: readonly Uint8Array[]): Frame<unknown>[] {
	const decoder = new FrameDecoder();
	const frames = chunks.flatMap((chunk) => [...decoder.push(chunk)]);
	return frames.map(({ header, body }) => ({ header, body: Buffer.from(body) }));
}

describe("a frame", () => {
	test("is a length, a header and raw bytes", () => {
		expect(Buffer.concat(encodeFrame({ id: 1 }, Uint8Array.of(0xff, 0)))).toEqual(
			Buffer.from([
				...[0, 0, 0, 12], // length of what follows
				...[0, 8], // length of the header
				...Buffer.from('{"id":1}'),
				...[0xff, 0x00], // body
			]),
		);
	});

	test("without bytes is one part", () => {
		expect(encodeFrame({ ok: true })).toHaveLength(1);
	});

	test("is found again wherever the stream is cut", () => {
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

	test("that is large is found again too, whatever pieces the kernel gives", () => {
		const frames = [
			{ header: { a: 1 }, body: Buffer.alloc(40_000, 1) },
			{ header: { b: 2 }, body: Buffer.from("small") },
			{ header: { c: 3 }, body: Buffer.alloc(16_384, 3) },
			{ header: { d: 4 }, body: Buffer.alloc(16_370, 4) },
			{ header: { e: 5 }, body: Buffer.alloc(300_000, 5) },
		];
		const stream = Buffer.concat(frames.flatMap(({ header, body }) => encodeFrame(header, body)));
		for (const size of [1, 5, 6, 7, 1000, 16_384, 65_536, stream.length]) {
			const decoder = new FrameDecoder();
			const found: Frame<unknown>[] = [];
			for (let at = 0; at < stream.length; ) {
				const read = stream.copy(decoder.space(), 0, at, at + size);
				expect(read).toBeGreaterThan(0);
				at += read;
				found.push(...decoder.fill(read));
			}
			// Compared only now: a body must stay as it is while others are read.
			expect(found.map(({ header, body }) => ({ header, body: Buffer.from(body) }))).toEqual(frames);
		}
	});

	test("that claims too much, or a header beyond itself, is an error and not a wait", () => {
		expect(() => decode([Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0])])).toThrow("a frame of");
		expect(() => decode([Buffer.from([0, 0, 0, 4, 0, 9, 1, 2])])).toThrow("longer than its frame");
	});
});
