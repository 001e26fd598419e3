/** The screen of a session's terminal as fronts see it. */

import type { Size } from "../../words/state.ts";
import type { BudgetCaller } from "../async/budget.ts";
import { SessionError } from "../errors.ts";
import type { LogPosition, OffsetOrTime } from "../log/event.ts";

/**
 * Largest screen described cell by cell. It is done in one turn, so a larger one would delay other sessions.
 * @limit a screen with styles, or as a picture | % cells | `limit_exceeded`
 */
const MAX_STYLED_CELLS = 50_000;

/** A palette index, or `#rrggbb`. */
export type ScreenColor = number | string;

export type ScreenStyle = {
	readonly fg?: ScreenColor;
	readonly bg?: ScreenColor;
	readonly bold?: true;
	readonly dim?: true;
	readonly italic?: true;
	/** Single, double, curly, dotted, dashed. */
	readonly underline?: 1 | 2 | 3 | 4 | 5;
	readonly blink?: true;
	readonly inverse?: true;
	readonly invisible?: true;
	readonly strikethrough?: true;
	readonly overline?: true;
};

/** Text in one style and its width: one column per UTF-16 unit, unless it is a single character. */
export type ScreenRun = {
	readonly text: string;
	readonly cols: number;
	readonly style: ScreenStyle;
	/** A single character that is wide or made of several code units. */
	readonly isSingle?: true;
};
export type ScreenRow = readonly ScreenRun[];

export type ScreenView = Size & {
	readonly alternate: boolean;
	/** Zero-based. `col` stays in the last column when the next character would wrap. */
	readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
	readonly title: string;
	/** One line per row, without trailing blanks. */
	readonly lines: readonly string[];
	/** First row of the scrolling region, from which programs count in origin mode. */
	readonly firstRow: number;
	/** The program is in a synchronized update. */
	readonly isSynchronizing: boolean;
};

/** A view and its position in the log: after every event before `seq` and every byte before `offset`. */
export type Screen = LogPosition & ScreenView;

/** The lines without empty ones at the end. */
export function withoutEnd(lines: readonly string[]): string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

/** The rows that differ from an earlier screen; undefined if the two can't be compared. */
export function changedRows(screen: Screen, earlier: Screen | undefined): { row: number; text: string }[] | undefined {
	if (earlier?.cols !== screen.cols || earlier.rows !== screen.rows) return undefined;
	return screen.lines.flatMap((text, row) => (text === earlier.lines[row] ? [] : [{ row, text }]));
}

/** Refuses a screen that is too large to describe cell by cell. */
export function checkStyled({ cols, rows }: Size): void {
	if (cols * rows <= MAX_STYLED_CELLS) return;
	throw new SessionError(
		"limit_exceeded",
		`a screen of ${cols}×${rows} is too large to be shown in color (limit ${MAX_STYLED_CELLS} cells)`,
		{ hint: "read it as text" },
	);
}

/** A screen as escape sequences that draw it on a terminal of its size. */
export type Snapshot = LogPosition & Size & { readonly bytes: Uint8Array };

export type ScreenOptions = {
	/** Cancels the request. */
	readonly signal: AbortSignal;
	/** A past moment. Defaults to now. */
	readonly at?: OffsetOrTime | undefined;
	/** The caller whose budget a past screen counts against. */
	readonly by?: BudgetCaller | null | undefined;
};
