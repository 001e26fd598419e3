import { expect, test } from "vitest";
import { Scan, type ScanState, type TerminalQuery } from "../../../src/core/terminal/terminal-scan.ts";
import { EVERY_QUERY } from "../../support/terminal-queries.ts";

function scanned(...pieces: string[]): ScanState {
	const scan = new Scan();
	for (const piece of pieces) scan.feed(Buffer.from(piece));
	return scan.state;
}

test("text alone changes only the offset", () => {
	const state = scanned("hello\r\n", "x".repeat(100_000), "ü€😀");
	expect(state).toMatchObject({ offset: 100_016, ground: 100_016, pending: "", bells: 0, marks: [], queries: [] });
});

test("the alternate screen is tracked with the position of the switch", () => {
	expect(scanned("ab\u001b[?1049h").alternate).toEqual({ isOn: true, since: 2 });
	expect(scanned("ab\u001b[?1049h", "x\u001b[?1049l").alternate).toEqual({ isOn: false, since: 11 });
	expect(scanned("\u001b[?25;47h\u001b[?1047h").alternate).toEqual({ isOn: true, since: 0 });
});

test("erasing the whole screen is recorded, erasing a part is not", () => {
	expect(scanned("abc\u001b[2J").clearedAt).toBe(3);
	expect(scanned("abc\u001b[3J").clearedAt).toBe(3);
	expect(scanned("abc\u001b[J\u001b[1J\u001b[?2J").clearedAt).toBeNull();
});

test("a full reset clears the screen and every mode, and leaves the alternate screen", () => {
	const state = scanned("\u001b[?1049;2026;2004h", "\u001bc");
	expect(state).toMatchObject({ clearedAt: 18, alternate: { isOn: false, since: 18 }, synchronizedSince: null });
	expect(state.modes).toEqual({});
});

test("the title is that of the last OSC 0 or 2, in UTF-8, cut to a maximum length", () => {
	expect(scanned("\u001b]0;one\u0007\u001b]2;two ü\u001b\\\u001b]1;icon\u0007").title).toBe("two ü");
	expect(scanned(`\u001b]2;${"ü".repeat(1000)}\u0007`).title).toBe("ü".repeat(256));
	expect(scanned(`\u001b]2;x${"ü".repeat(1000)}\u0007`).title).toBe(`x${"ü".repeat(255)}`);
});

test("a pushed title is restored by a pop", () => {
	expect(scanned("\u001b]0;shell\u0007\u001b[22;0;0t\u001b]0;vim\u0007").title).toBe("vim");
	expect(scanned("\u001b]0;shell\u0007\u001b[22;0;0t\u001b]0;vim\u0007\u001b[23;0;0t").title).toBe("shell");
});

test("bells are counted, and the ends of titles are none", () => {
	expect(scanned("\u0007a\u0007\u001b]0;t\u0007").bells).toBe(2);
});

test("synchronized output is tracked while it lasts", () => {
	expect(scanned("a\u001b[?2026h", "\u001b[?2026h").synchronizedSince).toBe(1);
	expect(scanned("a\u001b[?2026h\u001b[?2026l").synchronizedSince).toBeNull();
});

test("the cursor has the shape requested last, and a version query does not change it", () => {
	expect(scanned("\u001b[4 q\u001b[6 q\u001b[>q").cursorShape).toBe(6);
	expect(scanned("\u001b[6 q\u001b[ q").cursorShape).toBe(0);
});

test("modes are as programs have left them, and a soft reset clears some", () => {
	expect(scanned("\u001b[?1;25;2004h\u001b[?25l\u001b[?4711h").modes).toEqual({ 1: true, 25: false, 2004: true });
	expect(scanned("\u001b[?1;25;2004h\u001b[!p").modes).toEqual({ 2004: true });
});

test("shell marks of prompts, commands and directories have their positions", () => {
	const { marks } = scanned(
		"\u001b]133;A\u0007$ \u001b]133;D;1\u001b\\",
		"\u001b]7;file:///tmp\u0007\u001b]633;B\u0007",
	);
	expect(marks).toEqual([
		{ offset: 0, end: 8, code: 133, text: "A" },
		{ offset: 10, end: 21, code: 133, text: "D;1" },
		{ offset: 21, end: 37, code: 7, text: "file:///tmp" },
		{ offset: 37, end: 45, code: 633, text: "B" },
	]);
});

test("the newest marks are kept", () => {
	const { marks } = scanned("\u001b]133;A\u0007".repeat(1000));
	expect(marks).toHaveLength(64);
	expect(marks.at(-1)?.end).toBe(8000);
});

test.each(EVERY_QUERY)("a query is reported: $name", ({ text, sequence }) => {
	const told: TerminalQuery[] = [];
	const scan = new Scan(undefined, { onQuery: (query) => told.push(query) });
	scan.feed(Buffer.from(`text${sequence}text`));
	const isString = sequence.length > text.length;
	const terminator = isString ? { terminator: sequence.slice(text.length) } : {};
	expect(told).toEqual([{ offset: 4, end: 4 + sequence.length, text, ...terminator }]);
	expect(scan.state.queries).toEqual(told);
});

test.each([
	["an answer to DA1", "\u001b[?62;22c"],
	["colours", "\u001b[1;31m"],
	["a question in a title", "\u001b]0;what;?\u0007"],
	["a report of program status", "\u001b]7501;state=idle:x=;?\u0007"],
	["a link", "\u001b]8;;?\u0007"],
	["a colour that is set", "\u001b]11;#000000\u0007"],
	["a keyboard that is set", "\u001b[>1u"],
	["a cursor's style", "\u001b[2 q"],
	["a window that is moved", "\u001b[3;0;0t"],
])("%s is no query", (_name, text) => {
	expect(scanned(text).queries).toEqual([]);
});

test("C1 controls start sequences like their escapes, and characters that look like them are text", () => {
	expect(scanned("\u009b?1049h").alternate.isOn).toBe(true);
	expect(scanned("\u009d2;title\u009c").title).toBe("title");
	expect(scanned("\u001b]2;Ü\u0007").title).toBe("Ü");
	expect(scanned("©Ü\u001b[2J")).toMatchObject({ clearedAt: 4, pending: "" });
	expect(scanned("\u009b6n").queries).toEqual([{ offset: 0, end: 4, text: "\u001b[6n" }]);
});

test("the last ground position is known, with the bytes since", () => {
	expect(scanned("ab\u001b[?10")).toMatchObject({ offset: 7, ground: 2, pending: "\u001b[?10" });
	expect(scanned("ab\u001b]0;title")).toMatchObject({ ground: 2, pending: "\u001b]0;title" });
	expect(scanned("ab\u001b]0;title\u001b")).toMatchObject({ ground: 2, title: null });
	const scan = new Scan();
	scan.feed(Buffer.from("a€").subarray(0, 3));
	expect(scan.state).toMatchObject({ offset: 3, ground: 1, pending: "\u00e2\u0082" });
	scan.feed(Buffer.from("€").subarray(2));
	expect(scan.state).toMatchObject({ offset: 4, ground: 4, pending: "" });
});

test("a sequence longer than 4 KiB keeps its position and no bytes", () => {
	const long = `\u001b]2;${"x".repeat(5000)}`;
	expect(scanned("ab", long)).toMatchObject({ ground: 2, pending: null });
	expect(scanned("ab", long, "\u0007")).toMatchObject({ ground: 5007, pending: "", title: null, bells: 0 });
});

test("a sequence ends early by CAN, by another sequence, or by a character", () => {
	expect(scanned("\u001b[?1049\u0018h").modes).toEqual({});
	expect(scanned("\u001b[?1049\u001b[?25hh").modes).toEqual({ 25: true });
	expect(scanned("\u001b]2;one\u001b[?25h").modes).toEqual({ 25: true });
	expect(scanned("\u001b[?1049üh").modes).toEqual({});
});

test("after missing bytes the scan continues with text", () => {
	const scan = new Scan();
	scan.feed(Buffer.from("\u001b[?1049h\u001b]0;never ended"));
	scan.skipTo(1000);
	scan.feed(Buffer.from("\u0007x"));
	expect(scan.state).toMatchObject({ offset: 1002, ground: 1002, bells: 1, title: null, alternate: { isOn: true } });
});
