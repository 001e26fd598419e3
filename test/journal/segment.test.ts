import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/log/event.ts";
import {
	decodeHeader,
	decodeRecord,
	encodeHeader,
	encodeRecords,
	nameSegment,
	parseSegmentName,
} from "../../src/journal/segment-format.ts";

const place = { seq: 5, offset: 2 ** 33 + 1, time: 1.5 };

const records: readonly { readonly event: Event; readonly salt: number; readonly bytes: string }[] = [
	{
		event: { kind: "output", stream: "pty", bytes: new TextEncoder().encode("hi"), ...place },
		salt: 0,
		bytes: [
			"02000000", // body length
			"CRC",
			"01", // output
			"03", // pty
			"0500000000000000", // seq
			"0100000002000000", // offset
			"000000000000f83f", // time
			"6869",
		].join(" "),
	},
	{
		event: { kind: "output", stream: "stdout", bytes: new Uint8Array(0), ...place },
		salt: 1,
		bytes: "00000000 CRC 01 01 0500000000000000 0100000002000000 000000000000f83f",
	},
	{
		event: { kind: "resized", size: { cols: 80, rows: 24 }, ...place },
		salt: 0xffffffff,
		bytes: "08000000 CRC 02 00 0500000000000000 0100000002000000 000000000000f83f 50000000 18000000",
	},
	{
		event: { kind: "exited", exit: { code: 3, signal: null }, ...place },
		salt: 7,
		bytes: `18000000 CRC 03 00 0500000000000000 0100000002000000 000000000000f83f ${hex('{"code":3,"signal":null}')}`,
	},
	{
		event: { kind: "closed", ...place },
		salt: 7,
		bytes: "00000000 CRC 04 00 0500000000000000 0100000002000000 000000000000f83f",
	},
	{
		event: { kind: "closed", isCutShort: true, ...place },
		salt: 7,
		bytes: "01000000 CRC 04 00 0500000000000000 0100000002000000 000000000000f83f 00",
	},
	{
		event: { kind: "lost", message: "gone ✗", ...place },
		salt: 7,
		bytes: `08000000 CRC 05 00 0500000000000000 0100000002000000 000000000000f83f ${hex("gone ✗")}`,
	},
];

describe("records", () => {
	it.each(records)("the record of $event.kind is encoded and decoded as the format says", ({ event, salt, bytes }) => {
		const encoded = encode([event], salt);
		const rest = Buffer.from(bytes.replace(/^.*CRC/, "").replaceAll(" ", ""), "hex");
		const checksum = Buffer.alloc(4);
		checksum.writeUInt32LE(crc32cByBits(rest, salt));
		expect(encoded.toString("hex")).toBe(bytes.replace("CRC", checksum.toString("hex")).replaceAll(" ", ""));
		expect(decodeRecord(encoded, 0, salt)).toEqual({ event, size: encoded.length });
	});

	it("the checksum is CRC-32C, so that other tools can read records", () => {
		const event: Event = { kind: "closed", seq: 1, offset: 0, time: 0 };
		expect(crc32cByBits(Buffer.from("123456789"), 0)).toBe(0xe3069283);
		const encoded = encode([event], 0);
		expect(encoded.readUInt32LE(4)).toBe(crc32cByBits(encoded.subarray(8), 0));
	});

	it("a record cut at any byte is reported as short", () => {
		for (const { event, salt } of records) {
			const encoded = encode([event], salt);
			for (let length = 0; length < encoded.length; length++) {
				expect(decodeRecord(encoded.subarray(0, length), 0, salt)).toBe("short");
			}
		}
	});

	it("a record with any flipped bit is not accepted", () => {
		for (const { event, salt } of records) {
			const encoded = encode([event], salt);
			for (let bit = 0; bit < encoded.length * 8; bit++) {
				const damaged = Buffer.from(encoded);
				damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
				expect(["short", "bad", "wrong"]).toContain(decodeRecord(damaged, 0, salt));
			}
		}
	});

	it("a record of another segment is not accepted", () => {
		for (const { event, salt } of records) expect(decodeRecord(encode([event], salt), 0, salt ^ 1)).toBe("wrong");
	});

	it("zeros, and a length that no event has, are not taken for records", () => {
		expect(decodeRecord(Buffer.alloc(100), 0, 0)).toBe("bad");
		const oversized = encode([records[0]?.event as Event], 0);
		oversized.writeUInt32LE(0xffffffff, 0);
		expect(decodeRecord(oversized, 0, 0)).toBe("bad");
	});
});

describe("a batch", () => {
	it("a batch passes large output without copying and joins small events", () => {
		const large = new Uint8Array(100_000).fill(7);
		const small: Event = { kind: "output", stream: "pty", bytes: new Uint8Array(10), seq: 1, offset: 0, time: 0 };
		const events: Event[] = [
			small,
			{ ...small, seq: 2, offset: 10 },
			{ kind: "output", stream: "pty", bytes: large, seq: 3, offset: 20, time: 0 },
			{ kind: "closed", seq: 4, offset: 100_020, time: 0 },
		];
		const { pieces, ends } = encodeRecords(events, 9, Number.POSITIVE_INFINITY);
		expect(pieces.map((piece) => piece.byteLength)).toEqual([44 + 44 + 34, 100_000, 34]);
		expect(pieces[1]).toBe(large);
		expect(ends).toEqual([44, 88, 88 + 34 + 100_000, 88 + 34 + 100_000 + 34]);
		const encoded = Buffer.concat(pieces);
		const starts = [0, ...ends.slice(0, -1)];
		expect(starts.map((at) => (decodeRecord(encoded, at, 9) as { event: Event }).event)).toEqual(events);
	});

	it("a batch holds as many events as fit, but at least one", () => {
		const events = [1, 2, 3].map((seq): Event => ({ kind: "closed", seq, offset: 0, time: 0 }));
		expect([0, 34, 67, 68, 102, 500].map((room) => encodeRecords(events, 0, room).ends.length)).toEqual([
			1, 1, 1, 2, 3, 3,
		]);
	});
});

describe("a segment's header and name", () => {
	it("headers and names of segments are encoded and decoded as the format says", () => {
		const start = { seq: 258, offset: 2 ** 40 };
		const header = Buffer.from(encodeHeader(start));
		expect(header.subarray(0, 28).toString("hex")).toBe(
			[
				"4841575345524a0a", // HAWSERJ\n
				"0100", // version
				"0000",
				"0201000000000000", // first seq
				"0000000000010000", // first offset
			].join(""),
		);
		expect(header.readUInt32LE(28)).toBe(crc32cByBits(header.subarray(0, 28), 0));
		expect(decodeHeader(header)).toEqual({ version: 1, start });
		expect(nameSegment(start, 0xabc)).toEqual({
			name: "0000000000000258-0001099511627776-00000abc.journal",
			start,
			salt: 0xabc,
		});
		expect(parseSegmentName("0000000000000258-0001099511627776-00000abc.journal")).toEqual(nameSegment(start, 0xabc));
	});

	it("damaged, truncated and foreign headers and names are refused", () => {
		const header = Buffer.from(encodeHeader({ seq: 1, offset: 0 }));
		for (let length = 0; length < header.length; length++)
			expect(decodeHeader(header.subarray(0, length))).toBeUndefined();
		for (let bit = 0; bit < header.length * 8; bit++) {
			const damaged = Buffer.from(header);
			damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
			expect(decodeHeader(damaged)).toBeUndefined();
		}
		for (const name of ["meta.json", "1-0-0.journal", "0000000000000258-0001099511627776-00000abc.journal~", ""]) {
			expect(parseSegmentName(name)).toBeUndefined();
		}
	});
});

function encode(events: readonly Event[], salt: number): Buffer {
	return Buffer.concat(encodeRecords(events, salt, Number.POSITIVE_INFINITY).pieces);
}

function hex(text: string): string {
	return Buffer.from(text).toString("hex");
}

/** CRC-32C bit by bit, as defined. */
function crc32cByBits(bytes: Uint8Array, seed: number): number {
	let crc = ~seed;
	for (const byte of bytes) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
	}
	return ~crc >>> 0;
}
