/** What a session's terminal shows, as fronts see it. */

import { SessionError } from "./errors.ts";
import type { LogPlace, Mark, Size } from "./event.ts";
import type { Session } from "./session.ts";

/** Of a screen that is told cell by cell, which is done in one go: with more, everybody else's would wait for that. */
const MAX_STYLED_CELLS = 50_000;

/** A number of the palette, or `#rrggbb`. */
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

/** Text of one style, and how many columns it takes: one for each UTF-16 unit, unless it is a single character. */
export type ScreenRun = {
	readonly text: string;
	readonly cols: number;
	readonly style: ScreenStyle;
	/** It is wide, or made of several. */
	readonly isSingle?: true;
};
export type ScreenRow = readonly ScreenRun[];

export type ScreenView = Size & {
	readonly alternate: boolean;
	/** From zero; `col` is the last one, too, where the next character begins a new line. */
	readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
	readonly title: string;
	/** One for each row, without the blanks at its end. */
	readonly lines: readonly string[];
	/** The row from which the program counts: the first that it scrolls, if it has said so. */
	readonly firstRow: number;
	/** The program is in the middle of drawing, and has said so. */
	readonly isSynchronizing: boolean;
};

/** A view and where it stands in the log: after every event before `seq`, and every byte before `offset`. */
export type Screen = Mark & ScreenView;

/** Empty rows at the end say nothing. */
export function withoutEnd(lines: readonly string[]): string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

/** The rows that are not as they were earlier; undefined where that can't be compared. */
export function changedRows(screen: Screen, earlier: Screen | undefined): { row: number; text: string }[] | undefined {
	if (earlier?.cols !== screen.cols || earlier.rows !== screen.rows) return undefined;
	return screen.lines.flatMap((text, row) => (text === earlier.lines[row] ? [] : [{ row, text }]));
}

/** Refuses a screen that is too large to be told cell by cell. */
export function checkStyled({ cols, rows }: Size): void {
	if (cols * rows <= MAX_STYLED_CELLS) return;
	throw new SessionError(
		"limit_exceeded",
		`a screen of ${cols} columns and ${rows} rows is too large to be shown in colours`,
		{ hint: "read it as text" },
	);
}

/** A screen as escape sequences, which make a terminal of its size show it. */
export type Snapshot = Mark & Size & { readonly bytes: Uint8Array };

export type ScreenOptions = {
	/** Gives up the wait. */
	readonly signal: AbortSignal;
	/** Instead of now. */
	readonly at?: LogPlace | undefined;
};

/** Rejects with `unsupported` for a session without a terminal, and with `limit_exceeded` where a screen can't be had. */
export interface Screens {
	/** What is shown; never in the middle of what a program says it is drawing, unless that takes too long. */
	read(session: Session, options: ScreenOptions): Promise<Screen>;
	/** As `checkStyled` allows. */
	cells(session: Session, options: ScreenOptions): Promise<Screen & { readonly cells: readonly ScreenRow[] }>;
	/** With so many rows of what was scrolled away, at most. */
	snapshot(session: Session, options: ScreenOptions & { readonly scrollback: number }): Promise<Snapshot>;
	/** The rows above the screen that scrolled away last, oldest first: of so much output and so many rows as are gone through for it. */
	scrollback(session: Session, options: ScreenOptions): Promise<Mark & { readonly lines: readonly string[] }>;
	/** For `earlier`: the newest few are. */
	remember(session: Session, screen: Screen): void;
	/** The screen that was remembered, of the number that its `seq` was. */
	earlier(session: Session, seq: number): Screen | undefined;
}
