/** A screen by the newest output alone: either it is that of a terminal that saw everything, or it is not told. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { drawnByNewest } from "../../src/screen/newest.ts";
import { XtermModel } from "../../src/screen/xterm-model.ts";
import { stateOf } from "./terminal-state.ts";

const SIZE = { cols: 12, rows: 5 };
const SCROLLBACK = 200;
const BEGIN = "behind\r\n\x1b[?1049h\x1b[?25l\x1b)0";

const bytes = (text: string) => new TextEncoder().encode(text);

function drawn(newest: string): Uint8Array | undefined {
	return drawnByNewest({ size: SIZE, scrollback: SCROLLBACK, before: bytes(BEGIN), newest: bytes(newest) });
}

function shown(output: Uint8Array): XtermModel {
	const model = new XtermModel(SIZE, SCROLLBACK);
	model.feed(output);
	return model;
}

/** Which row goes on in the next one matters to nothing but a resize, and nothing is moved on this screen then. */
function withoutWraps({ opened }: XtermModel) {
	const { screen, ...rest } = stateOf(opened);
	return { ...rest, screen: { ...screen, lines: screen.lines.map((line) => line?.replace("↪", "|")) } };
}

const rows = (text: string) =>
	Array.from({ length: SIZE.rows }, (_, row) => `\x1b[${row + 1};1H${text}\x1b[K`).join("");

test("what is drawn everywhere is the screen, with what was behind it when the program began", () => {
	const found = drawn(rows("new"));
	const expected = shown(bytes(`${BEGIN}what was before${rows("new")}`));
	expect(found && withoutWraps(shown(found))).toEqual(withoutWraps(expected));
});

test.each([
	["a row was not drawn", `${rows("new")}`.replace("\x1b[3;1Hnew\x1b[K", "")],
	["it is not known where it was written", `${"text\r\n".repeat(2)}`],
	["the cursor may be anywhere", `${rows("new")}\x1b8`],
	["colours were only added", rows("new\x1b[1m")],
	["a part of it may have been lines", `${rows("qqq")}\x1b(B`],
	["where it scrolls is not known", `${rows("new")}\n\n\x1b[r\x1b[H`],
	["it was in the middle of something", `;3Hnew${rows("new").replace("\x1b[3;1Hnew\x1b[K", "")}`],
])("nothing is told if %s", (_why, newest) => {
	expect(drawn(newest)).toBeUndefined();
});

const place = fc.tuple(fc.nat(SIZE.rows), fc.nat(SIZE.cols)).map(([row, col]) => `\x1b[${row};${col}H`);
const drawing = fc.oneof(
	fc.string({ minLength: 1, maxLength: 12 }),
	place,
	fc.constantFrom("\x1b[K", "\x1b[J", "\x1b[2J", "\x1b[1;31m", "\x1b[m", "\x1b[4mx\x1b[m", "\r\n", "\x1b[L", "\x1b[M"),
	fc.constantFrom(
		"\x1b(0qqq\x1b(B",
		"\x0eqqq\x0f",
		"\x1b7",
		"\x1b8",
		"\x1b[2;4r",
		"\x1b[r",
		"日本語",
		"\x1bM",
		"\b",
		"\t",
	),
	fc.constantFrom(rows("日本"), rows("\x1b[7mrow\x1b[m"), "\x1b[H\x1b[2J"),
);
const output = fc.array(drawing, { maxLength: 30 }).map((parts) => parts.join(""));

test("what is told is what a terminal shows that saw everything", () => {
	let told = 0;
	fc.assert(
		fc.property(output, output, (earlier, newest) => {
			const found = drawn(newest);
			if (!found) return;
			told++;
			// What the program sets somewhere, and leaves so, is known only if it has set it in its newest output, too.
			const settled = `${earlier}${/\x1b\[[\d;]*r/.test(newest) ? "" : "\x1b[r"}${/\x1b[78]/.test(newest) ? "" : "\x1b[H\x1b7"}`;
			const pen = /\x1b\[[\d;]*m/.test(newest) ? "" : "\x1b[m";
			const expected = shown(bytes(`${BEGIN}${settled}${pen}${newest}`));
			expect(withoutWraps(shown(found)).screen.lines).toEqual(withoutWraps(expected).screen.lines);
			expect(shown(found).view()).toEqual(expected.view());
		}),
		{ numRuns: 300 },
	);
	expect(told).toBeGreaterThan(10);
});
