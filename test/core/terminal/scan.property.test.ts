import fc from "fast-check";
import { expect, test } from "vitest";
import { skim } from "../../../src/core/terminal/skim.ts";
import { Scan, type ScanState } from "../../../src/core/terminal/terminal-scan.ts";
import { skim as nativeSkim, skimAnywhere } from "../../../src/native/addon.ts";

/** Pieces of terminal output, whole and broken, so that random output has valid sequences. */
const fragment = fc.oneof(
	fc
		.constantFrom(
			..."\u001b \u001b[ \u001b] \u001bP \u001b\\ \u0007 \u0018 ? ; 2 1049 h l J n c $p 0;t 133;A 7;file \u009b \u009c \u009d ü € 😀".split(
				" ",
			),
			"\u001b[?1049h",
			"\u001b[?2026l",
			"\u001b]0;title\u0007",
			"\u001b]133;C;k=1\u001b\\",
			"\u001b[6n",
			"\u001b]11;?\u0007",
			"\u001b[22;0t",
			"\u001b[23t",
			"\u001bc",
			"\u001b[1;38;5;244m",
			"\u001b[?4m",
			"\u001b[12;40H",
			"\u001b(B",
			"\u001b7",
			"\u001bZ",
			"\u001b]8;;http://host/path?\u0007",
			"\u001b]8;;\u001b\\",
			`\u001b[${"1;".repeat(40)}m`,
			"x".repeat(300),
		)
		.map((text) => Buffer.from(text)),
	fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
	fc.constant(Buffer.from("y".repeat(1500))),
);
const output = fc.array(fragment, { maxLength: 40 }).map((parts) => Buffer.concat(parts));

function stateAfter(pieces: readonly Uint8Array[], from?: ScanState): ScanState {
	const scan = new Scan(from);
	for (const piece of pieces) scan.feed(piece);
	return scan.state;
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
	const ends = [...places.map((place) => place % (bytes.byteLength + 1)), bytes.byteLength].sort((a, b) => a - b);
	return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test("the state is the same wherever the output is split", () => {
	fc.assert(
		fc.property(output, fc.array(fc.nat(), { maxLength: 30 }), (bytes, places) => {
			expect(stateAfter(cut(bytes, places))).toEqual(stateAfter([bytes]));
		}),
		{ numRuns: 1000 },
	);
});

test("the state is the same when every byte arrives separately", () => {
	fc.assert(
		fc.property(output, (bytes) => {
			expect(stateAfter(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(stateAfter([bytes]));
		}),
		{ numRuns: 200 },
	);
});

test("a scan resumed from a state equals one that never stopped", () => {
	fc.assert(
		fc.property(output, fc.nat(), (bytes, place) => {
			const at = place % (bytes.byteLength + 1);
			const state = JSON.parse(JSON.stringify(stateAfter([bytes.subarray(0, at)]))) as ScanState;
			expect(stateAfter([bytes.subarray(state.ground)], state)).toEqual(stateAfter([bytes]));
		}),
		{ numRuns: 1000 },
	);
});

test("pending bytes start at the last ground state", () => {
	fc.assert(
		fc.property(output, (bytes) => {
			const { offset, ground, pending } = stateAfter([bytes]);
			expect(offset).toBe(bytes.byteLength);
			if (pending !== null) expect(pending).toBe(bytes.subarray(ground).toString("latin1"));
			else expect(offset - ground).toBeGreaterThan(4096);
		}),
		{ numRuns: 1000 },
	);
});

/**
 * 64 marks, 16 queries and 11 titles of 512 bytes, each of which may need six characters in JSON, and 4 KiB of pending
 * bytes.
 */
const LARGEST_STATE = 6 * (64 + 16 + 11) * 512 + 6 * 4096 + 16_384;

test("no output makes the state grow", () => {
	fc.assert(
		fc.property(fc.array(output, { minLength: 5, maxLength: 20 }), (outputs) => {
			const bytes = Buffer.concat(outputs);
			const state = stateAfter(Array.from({ length: 50 }, () => bytes));
			expect(JSON.stringify(state).length).toBeLessThan(LARGEST_STATE);
			expect(state.marks.length).toBeLessThanOrEqual(64);
			expect(state.queries.length).toBeLessThanOrEqual(16);
		}),
		{ numRuns: 30 },
	);
});

test("the addon skips the same parts of any output, from any position", () => {
	fc.assert(
		fc.property(output, fc.nat(), fc.nat(), (bytes, start, length) => {
			const begin = start % (bytes.byteLength + 1);
			const piece = bytes.subarray(begin, begin + (length % (bytes.byteLength - begin + 1)));
			for (let from = 0; from <= piece.byteLength; from += 1 + (from >> 4)) {
				expect(nativeSkim(piece, from)).toBe(skim(piece, from));
				expect(skimAnywhere(piece, from)).toBe(skim(piece, from));
			}
		}),
		{ numRuns: 2000 },
	);
});

/** Colors and moves, with an occasional other sequence, so that whole blocks contain only these. */
const coloured = fc
	.array(
		fc.oneof(
			{
				weight: 8,
				arbitrary: fc.constantFrom("\u001b[m", "\u001b[1;32m", "\u001b[38:5:244m", "\u001b[2K", "\u001b[12;40H"),
			},
			{ weight: 8, arbitrary: fc.stringMatching(/^[ -~]{0,30}$/) },
			{
				weight: 1,
				arbitrary: fc.constantFrom(
					"\u001b[?4m",
					"\u001b[>1m",
					"\u001b[1 q",
					"\u001b[6n",
					"\u001b[2J",
					"\u001b7",
					"\u001b",
					"\u001b[",
					"\u001b[1;",
					"\u0007",
					"\u00b7",
				),
			},
			{ weight: 1, arbitrary: fc.nat({ max: 200 }).map((digits) => `\u001b[${"1".repeat(digits)}m`) },
		),
		{ minLength: 1, maxLength: 60 },
	)
	.map((parts) => Buffer.from(parts.join("")));

test("the addon skips the same colors, wherever 64-byte blocks split a sequence", () => {
	fc.assert(
		fc.property(coloured, (bytes) => {
			for (let from = 0; from <= bytes.byteLength; from += 1 + (from >> 5)) {
				expect(nativeSkim(bytes, from)).toBe(skim(bytes, from));
				expect(skimAnywhere(bytes, from)).toBe(skim(bytes, from));
			}
		}),
		{ numRuns: 2000 },
	);
});

test("the state is the same with the addon's skipping of text", () => {
	fc.assert(
		fc.property(output, fc.array(fc.nat(), { maxLength: 5 }), (bytes, places) => {
			const scan = new Scan(undefined, { skim: nativeSkim });
			for (const piece of cut(bytes, places)) scan.feed(piece);
			expect(scan.state).toEqual(stateAfter([bytes]));
		}),
		{ numRuns: 1000 },
	);
});
