import fc from "fast-check";
import { expect, it } from "vitest";
import { joined, VisibleText } from "../../src/words/visible-text.ts";

/** The text of an output that comes in pieces of these lengths, and where each of its bytes was. */
function seen(output: Uint8Array, lengths: readonly number[] = [], hasReturns = false) {
	const visible = new VisibleText({ hasReturns });
	const runs = [];
	let at = 0;
	for (const length of [...lengths, output.byteLength]) {
		const piece = output.slice(at, at + length);
		runs.push(...visible.take(at, piece));
		at += piece.byteLength;
	}
	return {
		text: Buffer.from(joined(runs.map(({ bytes }) => bytes))).toString("latin1"),
		offsets: runs.flatMap(({ offset, bytes }) => [...bytes.keys()].map((index) => offset + index)),
	};
}

it("what is no text is left out, and each byte of the text is known by its offset", () => {
	const output = Buffer.from("a\u001b[31mb\u001b]0;title\u0007c\u0007d\u001b(Be\r\nf\rg\u001b[1");
	expect(seen(output, [], true).text).toBe("abcde\r\nf\rg");
	const { text, offsets } = seen(output);
	expect(text).toBe("abcde\nf\rg");
	expect(offsets.map((offset) => String.fromCharCode(output[offset] ?? 0)).join("")).toBe(text);
});

it("the same bytes give the same text however they are cut", () => {
	const part = fc.oneof(
		...["\u001b", "[", "]", "P", "\\", "\u0007", "\r", "\n", "31", ";", "m", " ", "x", "\u001b]0;t\u0007"].map(
			fc.constant,
		),
		fc.constant("y".repeat(5000)),
	);
	const outputs = fc.array(part, { maxLength: 12 }).map((parts) => Buffer.from(parts.join("")));
	fc.assert(
		fc.property(
			outputs,
			fc.array(fc.nat({ max: 300 }), { maxLength: 30 }),
			fc.boolean(),
			(output, lengths, hasReturns) => {
				expect(seen(output, [...lengths, 1e6, 0], hasReturns)).toEqual(seen(output, [], hasReturns));
			},
		),
	);
});

it("a sequence that never ends hides nothing once it is too long for one", () => {
	expect(seen(Buffer.from(`\u001b]0;${"x".repeat(5000)}\ndone`)).text).toMatch(/x{5000}\ndone$/);
});
