/** The requests to the emulator. No other code depends on which emulator it is. */

import type { ScreenRow, ScreenView } from "../core/terminal/screen-view.ts";
import type { Size } from "../words/state.ts";

/** Scrollback rows: enough for a terminal that becomes taller, with little memory. */
export const SCROLLBACK_ROWS = 200;

/** All requests to a model, with their responses. */
export type Questions = {
	/** Creates a model or resets it. */
	open: {
		readonly asks: { readonly size: Size; readonly scrollback: number; readonly snapshot?: Uint8Array };
		readonly answer: null;
	};
	feed: { readonly asks: { readonly bytes: Uint8Array<ArrayBuffer> }; readonly answer: null };
	resize: { readonly asks: { readonly size: Size }; readonly answer: null };
	view: { readonly asks: unknown; readonly answer: ScreenView };
	cells: { readonly asks: unknown; readonly answer: ScreenRow[] };
	scrollback: { readonly asks: unknown; readonly answer: string[] };
	snapshot: { readonly asks: { readonly scrollback: number }; readonly answer: Uint8Array<ArrayBuffer> };
	close: { readonly asks: unknown; readonly answer: null };
	/** Needs no model. Null if more output is needed. */
	newest: { readonly asks: Newest; readonly answer: Uint8Array<ArrayBuffer> | null };
};
export type Name = keyof Questions;

export type EmulatorRequest = {
	[Key in Name]: { readonly do: Key; readonly id: number; readonly model: number } & Questions[Key]["asks"];
}[Name];
export type EmulatorResponse = {
	readonly id: number;
	readonly value: Questions[Name]["answer"];
	/** The model was lost with an earlier thread. */
	readonly isMissing?: boolean;
};

export type Newest = {
	readonly size: Size;
	readonly scrollback: number;
	/** The screen when the program began, with the terminal's settings. No sequence is incomplete after it. */
	readonly before: Uint8Array;
	readonly newest: Uint8Array;
};
