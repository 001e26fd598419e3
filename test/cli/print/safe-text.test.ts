import { describe, expect, it } from "vitest";
import { SafeOutputDecoder, safeJson, safeLine, safeText } from "../../../src/cli/print/safe-text.ts";

describe("safeText", () => {
	it.each([
		["plain äöü 漢字 👋\tand\nlines", "plain äöü 漢字 👋\tand\nlines"],
		["\u001b[31m", "\\x1b[31m"],
		["\u0007\u0000\r\u007f", "\\x07\\x00\\x0d\\x7f"],
		["\u009b31m", "\\x9b31m"],
		["\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"],
		["\u2028\u2029", "\\u2028\\u2029"],
	])("safeText makes %j visible", (text, expected) => expect(safeText(text)).toBe(expected));

	it.each([
		["a name\u200b of\u00ad an\u061cother\u{e0041}", "a name\\u200b of\\xad an\\u061cother\\u{e0041}"],
		["⚠️ 👩‍💻 é 漢字", "⚠️ 👩‍💻 é 漢字"],
	])("safeLine makes invisible characters visible: %j", (text, expected) => expect(safeLine(text)).toBe(expected));

	it("safeLine stays one line", () => expect(safeLine("a\n\tb")).toBe("a\\n\\tb"));
});

describe("SafeOutputDecoder", () => {
	const read = (...pieces: (string | Uint8Array)[]) => {
		const output = new SafeOutputDecoder();
		const bytes = pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece));
		return bytes.map((piece) => output.push(piece)).join("") + output.end();
	};

	it.each([
		["keeps text and colors", "\u001b[1;31mred\u001b[m\r\n", "\u001b[1;31mred\u001b[m\r\n"],
		["keeps progress output", "10%\r20%\b\b", "10%\r20%\b\b"],
		["drops a title", "\u001b]0;title\u0007x", "x"],
		["drops a clipboard write", "\u001b]52;c;aGk=\u001b\\x", "x"],
		["drops queries", "\u001b[6n\u001b[c\u001bP$q\u001b\\x", "x"],
		["drops modes", "\u001b[?2004h\u001b[?1049lx\u001b=\u001b>", "x"],
		["drops character sets", "\u001b(Bx", "x"],
		["shows a lone escape", "a\u001b", "a\\x1b"],
		["shows an unfinished string", "\u001b]0;never ends", "\\x1b]0;never ends"],
		["shows C1 controls", "\u009b6n", "\\x9b6n"],
		["shows bidi controls", "\u202e", "\\u202e"],
	])("the decoder %s", (_, text, expected) => {
		expect(read(text)).toBe(expected);
		// The result does not depend on where chunks end.
		expect(read(...Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte)))).toBe(expected);
	});

	it("the decoder does not hold back an endless sequence", () => {
		const output = new SafeOutputDecoder();
		expect(output.push(new TextEncoder().encode(`\u001b]0;${"x".repeat(10_000)}`)).length).toBeGreaterThan(10_000);
	});
});

it("safeJson returns valid JSON without control characters", () => {
	const value = { name: "a\u009b31m\u202e\u007f\u001b\u200b\u{e0041}👩‍💻", lines: "x\ny" };
	expect(JSON.parse(safeJson(value))).toEqual(value);
	expect(safeJson(value)).not.toMatch(/[\u007f-\u009f\u200b\u202e\u001b\u{e0041}]/u);
});
