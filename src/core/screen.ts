/** What a session's terminal shows, as fronts see it. */

import type { Size } from "./event.ts";

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

/** Text of one style, and how many columns it takes: a wide character takes two. */
export type ScreenRun = { readonly text: string; readonly cols: number; readonly style: ScreenStyle };
export type ScreenRow = readonly ScreenRun[];

export type ScreenView = Size & {
	readonly alternate: boolean;
	/** From zero; `col` is the last one, too, where the next character begins a new line. */
	readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
	readonly title: string;
	/** One for each row, without the blanks at its end. */
	readonly lines: readonly string[];
	/** The program is in the middle of drawing, and has said so. */
	readonly isSynchronizing: boolean;
};
