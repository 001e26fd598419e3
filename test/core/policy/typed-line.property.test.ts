/**
 * The gate's reading of keys does not depend on how they are split into writes, unless the program's reading does, too.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { TypedLine } from "../../../src/core/policy/typed-line.ts";

const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** Text, keys with and without a known effect, paste marks, multi-byte characters, and invalid bytes. */
const FRAGMENTS = [
	...["touch", "x", " ", "é", "€", "😀", "\r", "\n", "\x03", "\x04", "\x15", "\x7f", "\x0f", "\x12", "\x1b", "\x1b[A"],
	...[PASTE_BEGIN, PASTE_END, "\x1b[200", "\x1b[20", "[200~", "[201~", "~"],
].map((text) => Buffer.from(text));
const BYTES = [0xc3, 0xa9, 0xe2, 0x82, 0xf0, 0x9f, 0xff].map((byte) => Buffer.of(byte));

const keys = fc
	.array(fc.constantFrom(...FRAGMENTS, ...BYTES), { maxLength: 10 })
	.map((fragments) => Buffer.concat(fragments));
/** Keys, and where they are split into writes. */
const cutKeys = keys.chain((typed) => fc.tuple(fc.constant(typed), fc.subarray([...typed.keys()].slice(1))));

function pieces(typed: Buffer, cuts: readonly number[]): Buffer[] {
	return [...cuts, typed.length].map((end, index) => typed.subarray(cuts[index - 1] ?? 0, end));
}

/** The reading of each of the pieces, typed one after the other. */
function readings(typed: readonly Buffer[]) {
	const line = new TypedLine({ mode: "pty" });
	return typed.map((piece) => {
		const reading = line.with(piece);
		line.take(piece);
		return { piece, ...reading };
	});
}

it("a key that only the program knows is unknown in the write with its last byte", () => {
	fc.assert(
		fc.property(cutKeys, ([typed, cuts]) => {
			for (const { piece, hasUnknownKeys } of readings(pieces(typed, cuts))) {
				if (/[\x0f\x12]/.test(piece.toString("latin1"))) expect(hasUnknownKeys).toBe(true);
			}
		}),
		{ numRuns: 2_000 },
	);
});

it("no split hides an unknown key: a write that contains or completes one reports it", () => {
	fc.assert(
		fc.property(cutKeys, ([typed, cuts]) => {
			const whole = new TypedLine({ mode: "pty" }).with(typed);
			const read = readings(pieces(typed, cuts));
			if (whole.hasUnknownKeys) expect(read.some(({ hasUnknownKeys }) => hasUnknownKeys)).toBe(true);
		}),
		{ numRuns: 2_000 },
	);
});

it("a line is readable only if it is readable in one piece, and then has the same readings", () => {
	const line = keys.filter((typed) => !/[\r\n]/.test(typed.toString("latin1")));
	const cutLine = line.chain((typed) => fc.tuple(fc.constant(typed), fc.subarray([...typed.keys()].slice(1))));
	fc.assert(
		fc.property(cutLine, ([typed, cuts]) => {
			const ended = Buffer.concat([typed, Buffer.from("\r")]);
			const whole = new TypedLine({ mode: "pty" }).with(ended);
			const last = readings(pieces(ended, cuts)).at(-1);
			if (last?.isReadable) expect(whole).toMatchObject({ isReadable: true, texts: last.texts });
		}),
		{ numRuns: 2_000 },
	);
});

it("a split character is readable once it is whole", () => {
	fc.assert(
		fc.property(
			fc.string({ unit: "grapheme-composite", maxLength: 20 }),
			fc.infiniteStream(fc.boolean()),
			(text, isCut) => {
				const typed = Buffer.from(`${text.replaceAll(/[\x00-\x1f\x7f-\x9f\ufffd]/g, "")}\r`);
				const cuts = [...typed.keys()].slice(1).filter(() => isCut.next().value);
				expect(readings(pieces(typed, cuts)).at(-1)?.isReadable).toBe(true);
			},
		),
	);
});

it.each([
	["an escape and the rest of a mark of a paste", ["q\x1b", "[200~touch x\x1b[201~\x0f"]],
	["half a character and its other half", ["q\xc3", "\xa9touch x\x0f"]],
	["a mark without its last byte", ["q\x1b[200", "~touch x\x1b[201~\x0f"]],
])("%s hide no key that comes after them", (_, [first = "", second = ""]) => {
	const [, last] = readings([Buffer.from(first, "latin1"), Buffer.from(second, "latin1")]);
	expect(last).toMatchObject({ hasUnknownKeys: true, isReadable: false });
	expect(last?.texts.some((text) => text.includes("touch x"))).toBe(true);
});

it("a paste mark in two writes is not recognized, because a program may read its beginning as a key", () => {
	const [, , ended] = readings([Buffer.from("\x1b"), Buffer.from("[200~rm -rf it\x1b[201~"), Buffer.from("\r")]);
	expect(ended).toMatchObject({ isReadable: false, isEnded: true });
});

it("the mark that ends a paste may come in two writes", () => {
	const [, , ended] = readings([Buffer.from("\x1b[200~ls\x1b[2"), Buffer.from("01~"), Buffer.from("\r")]);
	expect(ended).toMatchObject({ isReadable: true, isEnded: true });
	expect(ended?.texts).toContain("ls\n");
});
