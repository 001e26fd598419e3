/** What a terminal shows, as the native API tells it. */

import type { ErrorCode, SessionState } from "./messages.ts";

/** A number of the palette, or `#rrggbb`. */
export type ScreenColorMessage = number | string;

export type ScreenStyleMessage = {
	readonly fg?: ScreenColorMessage;
	readonly bg?: ScreenColorMessage;
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

/** Text of one style, and how many columns it takes: one for each UTF-16 unit, unless it is a single character, which may be wide. */
export type ScreenRunMessage = { readonly text: string; readonly cols: number; readonly style?: ScreenStyleMessage };

/** What is otherwise on a session's screen than it was told before. */
export type ScreenUpdate = Omit<ScreenMessage, "lines" | "changes" | "reset" | "met"> & {
	session: string;
	/** Nothing that was told before counts: rows that are not among the changes are empty. */
	reset?: true;
	/** Rows from zero on, whole, without blanks at their end. */
	changes: { row: number; runs: ScreenRunMessage[] }[];
};

/** The first that a stream of screens says: its name, and how many sessions it may be about. */
export type ScreensBegin = { stream: string; most: number };

/** A session whose screen can't be had; it is not tried again. */
export type ScreensError = { session: string; code: ErrorCode; message: string };

/** The sessions that a stream of screens is about from now on. */
export type ShowScreens = { sessions: string[] };

/** Which screen is wanted, and how: as JSON, as text, as text with colours, or as a picture. */
export type ScreenQuery = {
	format?: "json" | "text" | "ansi" | "html" | "svg";
	/** The `revision` of an earlier answer: only rows that have changed since are wanted. */
	since?: number;
	/** An offset or ISO 8601 time: how it was then, instead of now. */
	at?: string;
	/** How long to wait, in milliseconds, for what follows; without any of it, for a change since `since`. */
	wait?: number;
	/** It has this text in one of its rows. */
	text?: string;
	/** Whether `text` is a regular expression, as JavaScript has them. */
	regex?: "0" | "1";
	ignoreCase?: "0" | "1";
	/** Its text has not changed for so many milliseconds, since it was asked. */
	stable?: number;
	/** The only rows that count for both: `3`, or the first and the last as `0-3`. */
	region?: string;
};

/** Which rows above the screen are wanted: so many, above so many others. */
export type ScrollbackQuery = { skip?: number; limit?: number; at?: string };

/** Rows that were scrolled away. */
export type ScrollbackMessage = {
	/** The output before this byte is what they were above: to be given as `at` for others of the same. */
	offset: number;
	/** How many rows there are above the screen, as far as it was looked. */
	total: number;
	/** Of these, the oldest first. */
	lines: string[];
};

/** What a session's terminal shows. */
export type ScreenMessage = {
	/** The output before this byte is what it shows. */
	offset: number;
	/** Grows with everything that can change it. */
	revision: number;
	cols: number;
	rows: number;
	/** Whether it is the alternate screen, which full-screen programs use. */
	alternate: boolean;
	/** From zero. */
	cursor: { row: number; col: number; visible: boolean };
	title: string;
	/** The text of each row, without blanks at its end and without empty rows after the last. */
	lines?: string[];
	/** Instead of `lines`: the rows that have changed. */
	changes?: { row: number; text: string }[];
	/** What was asked to be compared with is not known any more: these are all rows. */
	reset?: true;
	/** Whether it is as it was waited for: has the text, or was stable. */
	met?: boolean;
	/** Of the session; once it has ended, the screen stays as it is. */
	state: SessionState;
};
