import { describe, expect, test } from "vitest";
import { isTerminalReply, TypedLineLength } from "../../../src/core/shell/typed-line-length.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a line without hooks", () => {
	test.each([
		["nothing", [], true],
		["text", ["ls"], false],
		["text and Enter", ["ls\r"], true],
		["text behind Enter", ["ls\rpwd"], false],
		["text and ^C", ["ls\u0003"], true],
		["text and ^U", ["ls -l\u0015"], true],
		["text and as many Backspaces, in pieces", ["ab", "\u007f", "\u007f"], true],
		["text and one Backspace less", ["abc\u007f\b"], false],
		["Backspaces before text", ["\u007f\u007f\u007fab\u007f"], false],
		["characters of several bytes and as many Backspaces", ["üß🎉\u007f\u007f\u007f"], true],
		["a recalled line", ["\u001b[A"], false],
		["a recalled line of an application keypad", ["\u001bOA"], false],
		["a recalled line and ^U, which may leave a part of it", ["\u001b[A\u0015"], false],
		["a recalled line and Enter", ["\u001b[A\r"], true],
		["^P", ["\u0010"], false],
		["Tab", ["\t"], false],
		["^D on an empty line, which some shells take for the end of text", ["\u0004"], false],
		["a paste with newlines in it", ["\u001b[200~ls\npwd\n\u001b[201~"], false],
		["a paste and Enter", ["\u001b[200~ls\n\u001b[201~\r"], true],
		["a report of focus", ["\u001b[I", "\u001b[O"], true],
		["answers to queries", ["\u001b[?62;22c\u001b[12;40R\u001b]11;rgb:0000/0000/0000\u001b\\"], true],
	] as const)("after %s a line is known to be empty or not", (_, pieces, isEmpty) => {
		const line = new TypedLineLength();
		for (const piece of pieces) line.type(bytes(piece));
		expect(line.isEmpty).toBe(isEmpty);
	});

	test("after a signal a line is unknown only if something was typed", () => {
		const line = new TypedLineLength();
		line.interrupt();
		expect(line.isEmpty).toBe(true);
		line.type(bytes("ls"));
		line.interrupt();
		line.type(bytes("\u007f\u007f"));
		expect(line.isEmpty).toBe(false);
		line.type(bytes("\r"));
		expect(line.isEmpty).toBe(true);
	});
});

test.each([
	["\u001b[I", true],
	["\u001b[24;80R", true],
	["\u001b[<0;3;4M\u001b[<0;3;4m", true],
	["\u001b[?1;2c", true],
	["\u001b]10;rgb:ffff/ffff/ffff\u0007", true],
	["\u001bP1$r0m\u001b\\", true],
	["\u001b[A", false],
	["\u001b[3~", false],
	["\u001bOP", false],
	["\u001b", false],
	["\u001b[Ils", false],
	["ls", false],
] as const)("a terminal types %j by itself: %s", (text, isReply) => {
	expect(isTerminalReply(bytes(text))).toBe(isReply);
});
