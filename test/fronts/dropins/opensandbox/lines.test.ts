/** Lines of output are the same however the bytes were split. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeLines } from "../../../../src/fronts/dropins/opensandbox/event-stream.ts";
import {
	commandLines,
	type LineRule,
	Lines,
	LONGEST_LINE,
	sessionLines,
} from "../../../../src/fronts/dropins/opensandbox/output-lines.ts";

function linesOf(rule: LineRule, pieces: readonly Uint8Array[], longest?: number): string[] {
	const lines = new Lines(rule, longest);
	return [...pieces.flatMap((piece) => lines.push(piece)), ...lines.finish()];
}

function texts(rule: LineRule, ...pieces: string[]): string[] {
	return linesOf(
		rule,
		pieces.map((piece) => Buffer.from(piece, "latin1")),
	);
}

describe("lines of /command (4.2, 6.5)", () => {
	test.each<[string[], string[]]>([
		[["a\n\nb\n\n\nc\n"], ["a", "\n", "b", "\n", "\n", "c"]],
		[["a\r\nb\rc\n"], ["a", "b", "c"]],
		[
			["a\r", "\nb"],
			["a", "b"],
		],
		[
			["a\r", "", "\n", "\nb"],
			["a", "\n", "b"],
		],
		[
			["a\r", "\r", "\n"],
			["a", "\n"],
		],
		[["\n"], ["\n"]],
		[["\r\n\r\n"], ["\n", "\n"]],
		[["tail"], ["tail"]],
		[
			["a", "b", "c\nd"],
			["abc", "d"],
		],
		[[], []],
	])("%j gives %j", (pieces, expected) => {
		expect(texts(commandLines, ...pieces)).toEqual(expected);
	});

	test("a line end is reported at once", () => {
		const lines = new Lines(commandLines);
		expect(lines.push(Buffer.from("50%\r"))).toEqual(["50%"]);
		expect(lines.push(Buffer.from("\n60%"))).toEqual([]);
		expect(lines.finish()).toEqual(["60%"]);
	});
});

describe("lines of /session (3.5)", () => {
	test.each<[string[], string[]]>([
		[["a\n\nb\r\n\r\nc"], ["a", "b", "c"]],
		[["10%\r20%\r", "\n"], ["10%\r20%"]],
		[["a\r\r\n"], ["a\r"]],
		[["a\r"], ["a"]],
		[["\r"], []],
	])("%j gives %j", (pieces, expected) => {
		expect(texts(sessionLines, ...pieces)).toEqual(expected);
	});
});

describe("characters", () => {
	test("characters split by chunks are whole, and invalid ones become U+FFFD", () => {
		const bytes = [...Buffer.from("€😀é\n")].map((byte) => Uint8Array.of(byte));
		expect(linesOf(commandLines, bytes)).toEqual(["€😀é"]);
		expect(linesOf(commandLines, [Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82)])).toEqual(["a\uFFFDb\uFFFD"]);
		expect(linesOf(commandLines, [Uint8Array.of(0xe2), Buffer.from("x\n")])).toEqual(["\uFFFDx"]);
	});
});

describe("long lines (I-20)", () => {
	test("a line of 256 KiB and one of the maximum are one line, and a longer one is split", () => {
		for (const length of [256 * 1024, LONGEST_LINE])
			expect(linesOf(commandLines, [Buffer.from(`${"x".repeat(length)}\n`)])).toEqual(["x".repeat(length)]);
		const lines = linesOf(commandLines, [Buffer.from("x".repeat(2 * LONGEST_LINE + 1)), Buffer.from("\n\nend")]);
		expect(lines.map(({ length }) => length)).toEqual([LONGEST_LINE, LONGEST_LINE, 1, 1, 3]);
	});

	test("a line as an event is within what clients accept, whatever it contains", () => {
		const [line = ""] = linesOf(commandLines, [Buffer.alloc(LONGEST_LINE + 1)]);
		expect(Buffer.byteLength(encodeLines("stdout", [line], 0))).toBeLessThan(4 * 1024 * 1024);
	});

	test("a line is never split inside a character", () => {
		expect(linesOf(commandLines, [Buffer.from("abc😀d\n")], 4)).toEqual(["abc", "😀d"]);
	});
});

/** Unusual input: line ends, multi-byte characters, and invalid ones. */
const awkward = fc
	.array(
		fc.oneof(
			fc
				.constantFrom("\n", "\r", "\r\n", "a", "bc", "€", "😀", "\0", "\x1b[0m", "\uFEFF")
				.map((text) => Buffer.from(text)),
			fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
		),
		{ maxLength: 60 },
	)
	.map((parts) => Buffer.concat(parts));

describe.each([
	["/command", commandLines],
	["/session", sessionLines],
])("%s: any chunking gives the same lines", (_, rule) => {
	test.each([3, 1024 * 1024])("the lines are the same when cut at %d", (longest) => {
		fc.assert(
			fc.property(awkward, fc.array(fc.nat(60)), (bytes, borders) => {
				const cuts = [0, ...borders.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length];
				const pieces = cuts.slice(1).map((to, i) => bytes.subarray(cuts[i], to));
				expect(linesOf(rule, pieces, longest)).toEqual(linesOf(rule, [bytes], longest));
			}),
			{ numRuns: 500 },
		);
	});

	test("the lines together are everything except the line ends", () => {
		fc.assert(
			fc.property(awkward, (bytes) => {
				const joined = linesOf(rule, [bytes])
					.join("")
					.replaceAll(/[\r\n]/g, "");
				const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
				expect(joined).toBe(text.replaceAll(/[\r\n]/g, ""));
			}),
		);
	});
});
