import { describe, expect, it } from "vitest";
import { OutputFilter, type OutputMode } from "../../../src/cli/terminal/output-filter.ts";
import { EVERY_QUERY } from "../../support/terminal-queries.ts";

function shown(pieces: readonly string[], mode: OutputMode): string {
	const output = new OutputFilter();
	const parts = pieces.map((piece) => output.push(Buffer.from(piece, "latin1"), mode));
	return Buffer.concat([...parts, output.end()]).toString("latin1");
}

function resetAfter(text: string): string {
	const output = new OutputFilter();
	output.push(Buffer.from(text, "latin1"), "live");
	return output.modes.reset();
}

const questions = [
	...EVERY_QUERY.map(({ sequence }) => sequence),
	"\u001b]11;?\u0007",
	"\u001b]52;c;?\u0007",
	"\u0005",
];
const statements = [
	"\u001b[31m",
	"\u001b[2J",
	"\u001b]0;title\u0007",
	"\u001b]2;what;?\u0007",
	"\u001b[?1049h",
	"\u001b[22;2t",
];
const effects = [
	"\u0007",
	"\u001b]52;c;aGk=\u0007",
	`\u001b]52;c;${"aGk".repeat(5000)}=\u001b\\`,
	"\u001b]9;done\u0007",
	"\u001b]777;notify;a;b\u001b\\",
	"\u001b]99;;hello\u001b\\",
	"\u001b]1337;RequestAttention=yes\u0007",
	`\u001b]1337;File=name=eA==:${"eA==".repeat(3000)}\u0007`,
	"\u001bPtmux;\u001b\u001b]52;c;aGk=\u0007\u001b\\",
	`\u001bPtmux;\u001b\u001b]52;c;${"aGk=".repeat(3000)}\u001b\u001b\\\u001b\\`,
	"\u001b[5iprinted\u001b[4i",
	"\u001b[?5iprinted \u001b[31mred\u001b[?4i",
	"\u001b[i",
	"\u001b[2t",
	"\u001b[8;50;200t",
	"\u001b[3J",
];

describe("the output filter", () => {
	it("live output passes unchanged", () => {
		const all = `a${[...questions, ...statements, ...effects].join("b")}c\u001b[`;
		expect(shown([all], "live")).toBe(all);
		expect(shown([...all], "live")).toBe(all);
	});

	it.each(questions)("a replay drops the query %j", (question) => {
		for (const mode of ["replay", "no-queries"] as const) {
			expect(shown([`a${question}b`], mode)).toBe("ab");
			expect(shown([...`a${question}b`], mode)).toBe("ab");
		}
	});

	it.each(statements)("a replay keeps %j", (statement) => {
		expect(shown([`a${statement}b`], "replay")).toBe(`a${statement}b`);
		expect(shown([...`a${statement}b`], "replay")).toBe(`a${statement}b`);
	});

	/** With C1 controls instead of ESC and a letter: as bytes, and as UTF-8 characters. */
	const shorter = (sequence: string, lead: string) =>
		sequence.replace(/\u001b([@-_])/g, (_, letter: string) => lead + String.fromCharCode(letter.charCodeAt(0) + 0x40));

	it.each(["", "\u00c2"])("the C1 form of a sequence is recognized after %j", (lead) => {
		const isShort = (sequence: string) => !sequence.includes("tmux;") && shorter(sequence, lead) !== sequence;
		for (const one of [...questions, ...effects].filter(isShort)) {
			const all = `a${shorter(one, lead)}b`;
			expect([one, shown([all], "replay")]).toEqual([one, "ab"]);
			expect([one, shown([...all], "replay")]).toEqual([one, "ab"]);
			expect(shown([...all], "live")).toBe(all);
		}
		for (const one of statements.map((each) => `a${shorter(each, lead)}b`)) {
			expect(shown([one], "replay")).toBe(one);
			expect(shown([...one], "replay")).toBe(one);
		}
		expect(resetAfter(shorter("\u001b[?2004h", lead))).toBe("\u001b[?2004l");
	});

	it("a byte inside a character is not a control character, wherever a chunk ends", () => {
		const letters = "\u{1f49b}5i\u271b6n \u0451\u045d52;c;aGk= \u011d9;\u4e9d\u6d3b \u{1f41d}0t\u0430\u0441\u0433";
		const title = `\u001b]0;${letters}\u0007`;
		const long = `\u001b]0;${letters.repeat(200)}\u001b\\`;
		const copied = `\u001b]52;c;${letters}\u0007\u001b]52;c;${letters.repeat(200)}\u009c`;
		const bytes = (parts: readonly string[]) => Buffer.from(parts.join("")).toString("latin1");
		const text = bytes(["a", letters, title, long, copied, letters]);
		const kept = bytes(["a", letters, title, long, letters]);
		expect(shown([text], "replay")).toBe(kept);
		expect(shown([...text], "replay")).toBe(kept);
		expect(shown(text.match(/[\s\S]{1,1000}/g) ?? [], "replay")).toBe(kept);
		expect(shown([...text], "live")).toBe(text);
	});

	it.each(effects)("a replay drops the side effect %j, wherever a chunk ends", (effect) => {
		const all = `a${effect}b`;
		expect(shown([...all], "replay")).toBe("ab");
		for (let cut = 0; cut <= all.length; cut += 1 + (all.length >> 6)) {
			expect(shown([all.slice(0, cut), all.slice(cut)], "replay")).toBe("ab");
		}
		expect(shown([...all], "no-queries")).toBe(all);
	});

	it("a title longer than the buffer passes whole, and its bell ends it", () => {
		const all = `\u001b]0;${"x".repeat(10_000)}\u0007a\u0007b`;
		const expected = all.replace("a\u0007b", "ab");
		expect(shown([all], "replay")).toBe(expected);
		expect(shown([...all], "replay")).toBe(expected);
	});

	it("a replay drops a clipboard string that another sequence ends", () => {
		expect(shown(["a\u001b]52;c;aGk=\u001b[31mb"], "replay")).toBe("a\u001b[31mb");
	});

	it("live effects pass right after a replay", () => {
		const output = new OutputFilter();
		const parts = [output.push(Buffer.from("a\u0007\u001b[5i"), "replay"), output.push(Buffer.from("b\u0007"), "live")];
		expect(Buffer.concat(parts).toString()).toBe("ab\u0007");
	});

	it("an endless sequence is not held back", () => {
		const all = `\u001b]0;${"x".repeat(10_000)}`;
		expect(shown([all, "y"], "replay")).toBe(`${all}y`);
	});

	it("live queries pass right after a replay", () => {
		const output = new OutputFilter();
		expect(Buffer.from(output.push(Buffer.from("x\u001b["), "replay")).toString()).toBe("x");
		expect(Buffer.from(output.push(Buffer.from("6n\u001b[6n"), "live")).toString()).toBe("\u001b[6n\u001b[6n");
	});
});

describe("terminal modes", () => {
	it.each([
		["nothing", "plain \u001b[31mred\u001b[0m text", ""],
		[
			"the alternate screen, mouse, paste and cursor modes",
			"\u001b[?1049h\u001b[?1000;1006h\u001b[?2004h\u001b[?25l",
			"\u001b[?1000l\u001b[?1006l\u001b[?2004l\u001b[?25h\u001b[?1049l",
		],
		["nothing that the program reset itself", "\u001b[?1049h\u001b[?25l\u001b[?25h\u001b[?1049l", ""],
		["colors", "\u001b[1;31mred", "\u001b[0m"],
		["keyboard modes", "\u001b[>1u\u001b[>4;2m", "\u001b[<1u\u001b[>4m"],
		["the cursor shape and the scroll region", "\u001b[5 q\u001b[2;10r", "\u001b[0 q\u001b7\u001b[r\u001b8"],
		["line drawing and the keypad", "\u001b(0\u001b=", "\u001b(B\u001b>"],
		[
			"a link and palette colors",
			"\u001b]8;;http://a\u0007x\u001b]11;#000\u0007\u001b]4;1;red\u0007",
			"\u001b]8;;\u0007\u001b]111\u0007\u001b]104\u0007",
		],
		[
			"nothing that was only queried, or reset",
			"\u001b]11;?\u0007\u001b]8;;a\u0007\u001b]8;;\u0007\u001b]4;1;red\u0007\u001b]104\u0007",
			"",
		],
		["nothing after a full reset", "\u001b[?1049h\u001b[?1003h\u001bc", ""],
	])("reset restores %s", (_, text, expected) => expect(resetAfter(text)).toBe(expected));
});
