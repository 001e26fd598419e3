import { expect, test } from "vitest";
import { LineRenderer } from "../../../src/services/reading/line-renderer.ts";

type Seen = { lines: string[]; offsets: number[]; switches: string[]; last: string };

/** The output in pieces of this many bytes. */
function show(output: string | Uint8Array, { rows = 24, step = Number.POSITIVE_INFINITY } = {}): Seen {
	const seen: Seen = { lines: [], offsets: [], switches: [], last: "" };
	const options = {
		rows,
		onLine: ({ text, offset }: { text: string; offset: number }) => {
			seen.lines.push(text);
			seen.offsets.push(offset);
		},
		onFullScreen: (isOn: boolean, offset: number) => seen.switches.push(`${isOn ? "on" : "off"} ${offset}`),
	};
	const screen = new LineRenderer(0, options);
	const bytes = Buffer.from(output as string);
	for (let at = 0; at < bytes.byteLength; at += step) screen.take(bytes.subarray(at, at + step));
	const { lines, offsets } = seen;
	seen.last = screen.lastLine();
	screen.end();
	return { ...seen, lines, offsets };
}

const examples: readonly [string, string, string[]][] = [
	["colours are left out", "\u001b[1;31mred\u001b[0m and \u001b]0;title\u0007plain\r\n", ["red and plain"]],
	["a progress bar is its last state", "10 %\r50 %\r100 %\r\ndone\r\n", ["100 %", "done"]],
	["what is erased is gone", "downloading…\r\u001b[Kdone\r\n", ["done"]],
	["a shorter text leaves the rest of a longer one", "abcdef\rxy\n", ["xycdef"]],
	["backspaces are typed over", "helo\b\blo\n", ["helo"]],
	["deleted and inserted characters", "abcd\u001b[3D\u001b[Pxy\r\u001b[2@\n", ["  axy"]],
	["lines further up are drawn anew", "a 1\nb 1\n\u001b[2A\u001b[Ka 2\n\u001b[Kb 2\n", ["a 2", "b 2"]],
	["a cleared screen was seen", "before\n\u001b[H\u001b[2Jafter\n", ["before", "after"]],
	["a screen that is drawn again and again is its last state", "\u001b[Hone\n\u001b[Htwo\n", ["two"]],
	["tabs are blanks", "a\tb\n", ["a       b"]],
	["characters of several bytes", "äöü → €\n日本\n", ["äöü → €", "日本"]],
	["what has no end", "no newline", ["no newline"]],
	["what is no text", "a\u0000\u0001b\u0085c\n", ["abc"]],
];

test.each(examples)("%s, however the output is cut", (_, output, lines) => {
	for (const step of [Number.POSITIVE_INFINITY, 1, 2, 3, 7]) expect(show(output, { step }).lines).toEqual(lines);
});

test("a line has the offset of its first byte", () => {
	expect(show("one\r\nträumen\r\n\r\nthree").offsets).toEqual([0, 5, 15, 17]);
});

test("lines are emitted when they leave the screen", () => {
	const { lines } = show(`${Array.from({ length: 100 }, (_, i) => `${i}\n`).join("")}\u001b[200Atop\n`, { rows: 10 });
	expect(lines.slice(0, 92)).toEqual([...Array.from({ length: 91 }, (_, i) => `${i}`), "top"]);
});

test("a line without an end is emitted in pieces", () => {
	const { lines } = show("x".repeat(100_000), { step: 4096 });
	expect(lines.join("")).toBe("x".repeat(100_000));
	expect(lines.length).toBeGreaterThan(10);
});

test("switching to the alternate screen and back is reported with the offset", () => {
	expect(show("$ vim\r\n\u001b[?1049h\u001b[Hfile\u001b[?1049l$ ").switches).toEqual(["on 15", "off 30"]);
});

test("the last line is the text before the cursor, or the last line that is not empty", () => {
	expect(show("Do you want to continue? [Y/n] ").last).toBe("Do you want to continue? [Y/n]");
	expect(show("text\r\n\u001b[32m$ \u001b[0mls\b\b").last).toBe("$");
	expect(show("over\r\n\r\n").last).toBe("over");
	expect(show("\u001b[?1049h\u001b[24;1H\u001b[7m(END)\u001b[27m\u001b[K").last).toBe("(END)");
	expect(show("").last).toBe("");
});

test("hostile output is read in linear time", () => {
	const began = performance.now();
	for (const piece of ["\r\u001b[4000Gx", "\u001b[A\u001b[4096Cy", "\u001b[@", "\u001b]", "\u001b[2J", "\u001b[999B"]) {
		show(piece.repeat(Math.ceil(262_144 / piece.length)), { rows: 65_535, step: 65_536 });
	}
	// Some 50 ms each; quadratic time would take minutes.
	expect(performance.now() - began).toBeLessThan(10_000);
});
