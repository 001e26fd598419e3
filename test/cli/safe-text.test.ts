import { describe, expect, it } from "vitest";
import { ReadableOutput, safeJson, safeLine, safeText } from "../../src/cli/safe-text.ts";

describe("safeText", () => {
	it.each([
		["plain äöü 漢字 👋\tand\nlines", "plain äöü 漢字 👋\tand\nlines"],
		["\u001b[31m", "\\x1b[31m"],
		["\u0007\u0000\r\u007f", "\\x07\\x00\\x0d\\x7f"],
		["\u009b31m", "\\x9b31m"],
		["\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"],
		["\u2028\u2029", "\\u2028\\u2029"],
	])("%j", (text, expected) => expect(safeText(text)).toBe(expected));

	it.each([
		["a name\u200b of\u00ad an\u061cother\u{e0041}", "a name\\u200b of\\xad an\\u061cother\\u{e0041}"],
		["⚠️ 👩‍💻 é 漢字", "⚠️ 👩‍💻 é 漢字"],
	])("a line shows what is not seen in it: %j", (text, expected) => expect(safeLine(text)).toBe(expected));

	it("keeps one line one line", () => expect(safeLine("a\n\tb")).toBe("a\\n\\tb"));
});

describe("ReadableOutput", () => {
	const read = (...pieces: (string | Uint8Array)[]) => {
		const output = new ReadableOutput();
		const bytes = pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece));
		return bytes.map((piece) => output.push(piece)).join("") + output.end();
	};

	it.each([
		["text and colours stay", "\u001b[1;31mred\u001b[m\r\n", "\u001b[1;31mred\u001b[m\r\n"],
		["progress stays", "10%\r20%\b\b", "10%\r20%\b\b"],
		["a title goes", "\u001b]0;title\u0007x", "x"],
		["the clipboard goes", "\u001b]52;c;aGk=\u001b\\x", "x"],
		["questions go", "\u001b[6n\u001b[c\u001bP$q\u001b\\x", "x"],
		["modes go", "\u001b[?2004h\u001b[?1049lx\u001b=\u001b>", "x"],
		["character sets go", "\u001b(Bx", "x"],
		["a lone escape is shown", "a\u001b", "a\\x1b"],
		["an unfinished string is shown", "\u001b]0;never ends", "\\x1b]0;never ends"],
		["C1 controls are shown", "\u009b6n", "\\x9b6n"],
		["bidi is shown", "\u202e", "\\u202e"],
	])("%s", (_, text, expected) => {
		expect(read(text)).toBe(expected);
		// However it is cut, the result is the same.
		expect(read(...Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte)))).toBe(expected);
	});

	it("does not hold back a flood that only looks like a sequence", () => {
		const output = new ReadableOutput();
		expect(output.push(new TextEncoder().encode(`\u001b]0;${"x".repeat(10_000)}`)).length).toBeGreaterThan(10_000);
	});
});

it("safeJson stays JSON and acts on no terminal", () => {
	const value = { name: "a\u009b31m\u202e\u007f\u001b\u200b\u{e0041}👩‍💻", lines: "x\ny" };
	expect(JSON.parse(safeJson(value))).toEqual(value);
	expect(safeJson(value)).not.toMatch(/[\u007f-\u009f\u200b\u202e\u001b\u{e0041}]/u);
});
