/** Echoes as terminals and line editors show them, and output that only looks like one. */

import { expect, test } from "vitest";
import { echoLength, typedLines } from "../../src/words/typed-echo.ts";

const LINE = "sleep 1; echo done";

test.each([
	["a terminal", `${LINE}\n`],
	["a line editor that draws its first character again", `s\b${LINE}\r\n`],
	["a line editor that shows a paste twice", `${LINE}\r${LINE}\n`],
	["a line editor that draws word by word", `sleep \r1; \recho \rdone\r${LINE}\r\n`],
	["a line that wraps", "sleep 1; e \rcho done\n"],
])("an echo of %s is recognized, and no output after it", (_, echo) => {
	const lines = typedLines(`${LINE}\r`);
	for (let length = 0; length < echo.length; length++) expect(echoLength(echo.slice(0, length), lines)).toBe(length);
	expect(echoLength(`${echo}done\n`, lines)).toBe(echo.length);
});

test.each([
	["another text", "yes, done\n", "n\r"],
	["a text that begins with the line", "yes, done\n", "y\r"],
	["a text that ends with the line", "done\n", "e\r"],
	["a line end alone, as after a password", "\r\nwelcome\n", "password\r"],
])("%s is no echo", (_, output, input) => {
	expect(echoLength(output, typedLines(input))).toBe(0);
});

test("the echo of several lines ends where other output begins", () => {
	const lines = typedLines("one\ntwo\nthree\n");
	expect(echoLength("one\ntwo\nONE\n", lines)).toBe("one\ntwo\n".length);
	expect(echoLength("one\ntwo\nthree\nONE\n", lines)).toBe("one\ntwo\nthree\n".length);
});

test("input without Enter, with editing keys or of more than 16,384 characters has no echo that is recognized", () => {
	expect(typedLines("half")).toEqual([]);
	expect(typedLines("ls\u007f\u007f\r")).toEqual([]);
	expect(typedLines("\u001b[A\r")).toEqual([]);
	expect(typedLines(`${"x".repeat(16_384)}\r`)).toEqual([]);
	expect(typedLines("\u001b[200~ls\u001b[201~\r")).toEqual(["ls"]);
});

test("a text that repeats the line's first character for ever is output", () => {
	expect(echoLength("s".repeat(10_000), typedLines("sl\r"))).toBe(0);
});
