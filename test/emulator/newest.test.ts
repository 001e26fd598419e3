/** A screen rendered from the newest output alone equals that of a terminal with all output, or is not given. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { snapshotOfNewestOutput } from "../../src/emulator/newest-output.ts";
import { XtermModel } from "../../src/emulator/xterm-model.ts";
import { stateOf } from "../support/terminal-state.ts";

const SIZE = { cols: 12, rows: 5 };
const SCROLLBACK = 200;
const BEGIN = "behind\r\n\x1b[?1049h\x1b[?25l\x1b)0";

const bytes = (text: string) => new TextEncoder().encode(text);

function drawn(newest: string): Uint8Array | undefined {
	return snapshotOfNewestOutput({ size: SIZE, scrollback: SCROLLBACK, before: bytes(BEGIN), newest: bytes(newest) });
}

function shown(output: Uint8Array): XtermModel {
	const model = new XtermModel(SIZE, SCROLLBACK);
	model.feed(output);
	return model;
}

/** Wrapped rows matter only for a resize, which does not happen here. */
function withoutWraps({ opened }: XtermModel) {
	const { screen, ...rest } = stateOf(opened);
	return { ...rest, screen: { ...screen, lines: screen.lines.map((line) => line?.replace("↪", "|")) } };
}

const rows = (text: string) =>
	Array.from({ length: SIZE.rows }, (_, row) => `\x1b[${row + 1};1H${text}\x1b[K`).join("");

test("output that redraws everything gives the screen, including what was behind the program", () => {
	const found = drawn(rows("new"));
	const expected = shown(bytes(`${BEGIN}what was before${rows("new")}`));
	expect(found && withoutWraps(shown(found))).toEqual(withoutWraps(expected));
});

test.each([
	["a row was not redrawn", `${rows("new")}`.replace("\x1b[3;1Hnew\x1b[K", "")],
	["the position is unknown", `${"text\r\n".repeat(2)}`],
	["the cursor's position is unknown", `${rows("new")}\x1b8`],
	["colors were only added", rows("new\x1b[1m")],
	["part of it may have used line drawing", `${rows("qqq")}\x1b(B`],
	["the scroll region is unknown", `${rows("new")}\n\n\x1b[r\x1b[H`],
	["it starts inside a sequence", `;3Hnew${rows("new").replace("\x1b[3;1Hnew\x1b[K", "")}`],
])("no screen is given if %s", (_why, newest) => {
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

test("a screen that is given equals that of a terminal with all output", () => {
	let told = 0;
	fc.assert(
		fc.property(output, output, (earlier, newest) => {
			const found = drawn(newest);
			if (!found) return;
			told++;
			// State that a program sets once and keeps is known only if the newest output sets it too.
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
