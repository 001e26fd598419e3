/**
 * The screen of a full-screen program by its newest output alone, if nothing of what was before is left on it.
 *
 * Two models are given the same output: one begins with what is known of the screen, the other with everything
 * otherwise. If both come to the same, it does not matter what was there before, and this is the screen. Programs that
 * write much draw everything again and again; those that do not may come to nothing here.
 */

import type { Size } from "../core/event.ts";
import { XtermModel } from "./xterm-model.ts";

export type Newest = {
	readonly size: Size;
	readonly scrollback: number;
	/** What the program found when it began, and how its terminal is set up; no sequence is under way after it. */
	readonly before: Uint8Array;
	readonly newest: Uint8Array;
};

/** As most programs leave them, and as a resize does: no margins, and a plain pen. */
const PLAIN = "\x1b[r\x1b[m";
/** A colour that every cell has then until something is written there, or it is erased. */
const OTHER_CELLS = "\x1b[45m\x1b[2J";

/**
 * What may have been otherwise before: whatever the output itself sets somewhere, which is then the same in both from
 * there on. The rest is as the program has left it when it began.
 */
const OTHERWISE: readonly (readonly [isSet: RegExp, otherwise: string])[] = [
	[/\x1b\[[\d;:]*m/, "\x1b[7;9;45m"],
	[/\x1b\(/, "\x1b(0"],
	[/\x1b\)/, "\x1b)0"],
	[/[\x0e\x0f]/, "\x0e"],
	[/\x1b\[4[hl]/, "\x1b[4h"],
	[/\x1b\[\?7[hl]/, "\x1b[?7l"],
	[/\x1b8|\x1b\[u/, "\x1b[2;2H\x1b7"],
	// The two that change where the cursor can be.
	[/\x1b\[[\d;]*r/, "\x1b[2;3r"],
	[/\x1b\[\?6[hl]/, "\x1b[?6h"],
];

/** As a snapshot; undefined if what was before may be seen. */
export function drawnByNewest({ size, scrollback, before, newest }: Newest): Uint8Array | undefined {
	const models = [new XtermModel(size, scrollback), new XtermModel(size, scrollback)] as const;
	// Not at an edge, for what is left of a line there would go on in the next row.
	const begins = [`${PLAIN}\x1b[H`, `${otherwise(newest)}\x1b[${Math.ceil(size.rows / 2)};3H`];
	const [one, other] = models.map((model, index) => {
		model.feed(before);
		model.feed(ascii(begins[index] ?? ""));
		model.feed(newest);
		const snapshot = model.snapshot({ scrollback });
		model.dispose();
		return snapshot;
	});
	return one && other && Buffer.compare(one, other) === 0 ? one : undefined;
}

function otherwise(newest: Uint8Array): string {
	const text = latin1(newest);
	const others = OTHERWISE.filter(([isSet]) => isSet.test(text)).map(([, sequence]) => sequence);
	return `${OTHER_CELLS}${PLAIN}${others.join("")}`;
}

function latin1(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function ascii(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
