import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSearch, LONGEST_LINE_BYTES } from "../../../src/services/search/line-search.ts";

/** Matches when the output comes in pieces of these lengths, each with its offset as its time. */
function search(expression: RegExp, output: Buffer, { lengths = [] as readonly number[], limit = 100 } = {}) {
	const looked = new LineSearch(expression, { limit });
	let at = 0;
	for (const length of [...lengths, output.byteLength]) {
		looked.push([{ offset: at, time: at, bytes: output.subarray(at, at + length) }]);
		at = Math.min(at + length, output.byteLength);
	}
	looked.finish();
	return { matches: looked.take(), resumeAt: looked.resumeAt, isFull: looked.isFull };
}

describe("lines", () => {
	it("lines are searched without escape sequences, and a match has the offsets of its output bytes", () => {
		const output = Buffer.from("first\r\n\u001b[1mer\u001b[31mror\u001b[0m: €uro\r\nlast");
		const [match, ...others] = search(/error: €/, output).matches;
		expect(others).toEqual([]);
		expect(match).toMatchObject({ text: "error: €uro", at: [0, 8], line: 11 });
		expect(output.subarray(match?.offset, match?.end).toString()).toBe("er\u001b[31mror\u001b[0m: €");
	});

	it("lines end with a newline or a return, and the last one needs no end", () => {
		const texts = (output: string) => search(/./, Buffer.from(output)).matches.map(({ text }) => text);
		expect(texts("10 %\r50 %\rdone\r\nnext\n\n$ ")).toEqual(["10 %", "50 %", "done", "next", "$ "]);
		// On a terminal, a program that writes `\\r\\n` itself writes two returns.
		expect(search(/^$/, Buffer.from("a\r\r\nb\r\n")).matches).toEqual([]);
		expect(texts("50 %\r")).toEqual(["50 %"]);
	});

	it("a line is one result, however often it matches", () => {
		expect(search(/a/, Buffer.from("aaa\nb\na")).matches.map(({ offset }) => offset)).toEqual([0, 6]);
	});

	it("long lines are searched in pieces, cut between characters", () => {
		const output = Buffer.from(`${"€".repeat(LONGEST_LINE_BYTES / 2)}needle`);
		const { matches } = search(/needle|\ufffd/, output);
		expect(matches).toMatchObject([
			{ offset: output.length - 6, end: output.length, text: expect.stringMatching(/€needle$/) },
		]);
		expect(matches[0]?.text.length).toBeLessThanOrEqual(1024);
		expect(matches[0]?.text.slice(...(matches[0]?.at ?? []))).toBe("needle");
	});

	it("a match has the time of the piece in which it begins", () => {
		expect(search(/two/, Buffer.from("one two"), { lengths: [4, 1] }).matches).toMatchObject([{ offset: 4, time: 4 }]);
	});
});

it("a full search reports the start of the next line, and no match is found twice or missed", () => {
	const output = Buffer.from("x1\r\ny\r\n\u001b[1mx2\u001b[m\r\nx3");
	const found: string[] = [];
	let from = 0;
	for (;;) {
		const { matches, isFull, resumeAt } = search(/x\d/, output.subarray(from), { limit: 1 });
		found.push(...matches.map(({ text }) => text));
		if (!isFull) break;
		from += resumeAt;
	}
	expect(found).toEqual(["x1", "x2", "x3"]);
});

it("endless returns do not block a search", () => {
	const output = Buffer.from(`x${"\r".repeat(3 * LONGEST_LINE_BYTES)}x`);
	expect(search(/x/, output, { lengths: [2 * LONGEST_LINE_BYTES] }).matches.map(({ offset }) => offset)).toEqual([
		0,
		output.length - 1,
	]);
	const looked = new LineSearch(/x/, { limit: 1 });
	looked.push([{ offset: 0, time: 0, bytes: Buffer.alloc(4 * LONGEST_LINE_BYTES, "\r") }]);
	expect(looked.resumeAt).toBeGreaterThan(2 * LONGEST_LINE_BYTES);
});

it("a gap ends a line", () => {
	const looked = new LineSearch(/ab/, { limit: 10 });
	looked.push([
		{ offset: 0, time: 1, bytes: Buffer.from("a") },
		{ offset: 10, time: 1, bytes: Buffer.from("b\nab") },
	]);
	looked.finish();
	expect(looked.take()).toMatchObject([{ offset: 12, end: 14 }]);
});

it("the same output gives the same matches, however it is cut", () => {
	const part = fc.constantFrom(
		"x",
		"€",
		"\u001b[31m",
		"\u001b]0;x\u0007",
		"\r",
		"\n",
		"\r\n",
		"\u001b",
		"\u0007",
		"long ",
	);
	const outputs = fc.array(part, { maxLength: 40 }).map((parts) => Buffer.from(parts.join("")));
	const untimed = (output: Buffer, lengths: number[]) =>
		search(/x+|€$/, output, { lengths }).matches.map((match) => ({ ...match, time: 0 }));
	fc.assert(
		fc.property(outputs, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 }), (output, lengths) => {
			expect(untimed(output, lengths)).toEqual(untimed(output, []));
		}),
	);
});

it("a text is found at the same offsets, however many other lines there are", () => {
	const text = `${"plain\r\n".repeat(50)}größe one\rtwo ONE\n${"x".repeat(70_000)}one\nlast one`;
	const found = (isLiteral: boolean) => {
		const looked = new LineSearch(/one/i, { limit: 10, isLiteral });
		const bytes = Buffer.from(text);
		for (let at = 0; at < bytes.byteLength; at += 99) {
			looked.push([{ offset: at, time: at, bytes: bytes.subarray(at, at + 99) }]);
		}
		looked.finish();
		return { matches: looked.take(), resumeAt: looked.resumeAt };
	};
	expect(found(true)).toEqual(found(false));
	expect(found(true).matches).toHaveLength(4);
});
