import fc from "fast-check";
import { expect, it } from "vitest";
import { OutputMatcher } from "../../../src/client/output/output-matcher.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The match when the output arrives in chunks of these lengths. */
function search(expression: RegExp, output: Uint8Array, lengths: readonly number[] = []) {
	const looked = new OutputMatcher(expression);
	let at = 0;
	for (const length of [...lengths, output.byteLength]) {
		const piece = output.slice(at, at + length);
		const found = looked.add(at, piece);
		if (found) return { text: found.match[0], offset: found.offset };
		at += piece.byteLength;
	}
	return undefined;
}

it.each([
	["colours", "\u001b[1;31mer\u001b[0mror\u001b[0m: no", /error:/, "error:", 21],
	["a title", "a\u001b]0;other title\u0007b", /ab/, "ab", 18],
	["line ends of a terminal", "one\r\ntwo\r\n", /^two\n/m, "two\n", 10],
	["a bell", "be\u0007ll", /bell/, "bell", 5],
	["characters of several bytes", "\u001b[32m€\u001b[m!", /€!/, "€!", 12],
])("the matcher ignores %s, and reports an offset of the output", (_name, output, expression, text, offset) => {
	expect(search(expression, bytes(output))).toEqual({ text, offset });
	// The result does not depend on where chunks end.
	fc.assert(
		fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 12 }), (lengths) => {
			expect(search(expression, bytes(output), lengths)).toEqual({ text, offset });
		}),
	);
});

it("an endless sequence counts as text", () => {
	expect(search(/x{5000}/, bytes(`\u001b]0;${"x".repeat(5000)}`), [10])).toMatchObject({ offset: 5004 });
});

it("a match may begin 64 KiB back, and no further", () => {
	const far = (length: number) => search(/A[\s\S]*B/, bytes(`A${".".repeat(length)}B`), [1, length]);
	expect(far(65_535)).toMatchObject({ offset: 65_537 });
	expect(far(65_536)).toBeUndefined();
});

it("the matcher finds a text in a megabyte with a color per character", () => {
	const bytes = new TextEncoder().encode(`${"\x1b[mx".repeat(250_000)}ready`);
	expect(new OutputMatcher(/ready/).add(0, bytes)?.offset).toBe(bytes.byteLength);
});
