import { describe, expect, it } from "vitest";
import { TerminalOutput } from "../../src/cli/terminal-output.ts";

function shown(pieces: readonly string[], answers: boolean): string {
	const output = new TerminalOutput();
	const parts = pieces.map((piece) => output.push(Buffer.from(piece, "latin1"), { answers }));
	return Buffer.concat([...parts, output.end()]).toString("latin1");
}

function resetAfter(text: string): string {
	const output = new TerminalOutput();
	output.push(Buffer.from(text, "latin1"), { answers: true });
	return output.modes.reset();
}

const questions = [
	"\u001b[6n",
	"\u001b[?6n",
	"\u001b[c",
	"\u001b[>c",
	"\u001b[>0q",
	"\u001b[?u",
	"\u001b[?2026$p",
	"\u001b[18t",
	"\u001b]11;?\u0007",
	"\u001b]4;1;?\u001b\\",
	"\u001b]52;c;?\u0007",
	"\u001bP+q544e\u001b\\",
	"\u001bP$qm\u001b\\",
	"\u001bZ",
	"\u0005",
];
const statements = [
	"\u001b[31m",
	"\u001b[2J",
	"\u001b]0;title\u0007",
	"\u001b[?1049h",
	"\u001b[22;2t",
	"\u001b]52;c;aGk=\u0007",
];

describe("output on its way to our terminal", () => {
	it("is not changed at all while it is live", () => {
		const all = `a${[...questions, ...statements].join("b")}c\u001b[`;
		expect(shown([all], true)).toBe(all);
		expect(shown([...all], true)).toBe(all);
	});

	it.each(questions)("loses a question when it is old: %j", (question) => {
		expect(shown([`a${question}b`], false)).toBe("ab");
		expect(shown([...`a${question}b`], false)).toBe("ab");
	});

	it.each(statements)("keeps a statement: %j", (statement) => {
		expect(shown([`a${statement}b`], false)).toBe(`a${statement}b`);
		expect(shown([...`a${statement}b`], false)).toBe(`a${statement}b`);
	});

	it("gives up what looks like an endless sequence", () => {
		const all = `\u001b]0;${"x".repeat(10_000)}`;
		expect(shown([all, "y"], false)).toBe(`${all}y`);
	});

	it("answers live questions right after old ones", () => {
		const output = new TerminalOutput();
		expect(Buffer.from(output.push(Buffer.from("x\u001b["), { answers: false })).toString()).toBe("x");
		expect(Buffer.from(output.push(Buffer.from("6n\u001b[6n"), { answers: true })).toString()).toBe(
			"\u001b[6n\u001b[6n",
		);
	});
});

describe("what has to be put back", () => {
	it.each([
		["nothing", "plain \u001b[31mred\u001b[0m text", ""],
		[
			"the other screen, the mouse, pasting and the cursor",
			"\u001b[?1049h\u001b[?1000;1006h\u001b[?2004h\u001b[?25l",
			"\u001b[?1000l\u001b[?1006l\u001b[?2004l\u001b[?25h\u001b[?1049l",
		],
		["not what the program put back itself", "\u001b[?1049h\u001b[?25l\u001b[?25h\u001b[?1049l", ""],
		["colours", "\u001b[1;31mred", "\u001b[0m"],
		["keyboard modes", "\u001b[>1u\u001b[>4;2m", "\u001b[<1u\u001b[>4m"],
		["the shape of the cursor and the scroll region", "\u001b[5 q\u001b[2;10r", "\u001b[0 q\u001b7\u001b[r\u001b8"],
		["line drawing and the keypad", "\u001b(0\u001b=", "\u001b(B\u001b>"],
		["nothing after a full reset", "\u001b[?1049h\u001b[?1003h\u001bc", ""],
	])("%s", (_, text, expected) => expect(resetAfter(text)).toBe(expected));
});
