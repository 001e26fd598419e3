/**
 * Computes the screen of a full-screen program from its newest output alone, if nothing older is visible on it.
 *
 * Two models get the same output. One starts with the known state of the screen, the other with everything different.
 * If both end up equal, the earlier state does not matter. Programs that write much usually redraw everything; for
 * others there may be no result.
 */

import type { Newest } from "./requests.ts";
import { XtermModel } from "./xterm-model.ts";

/** The usual state, also after a resize: no margins, plain pen. */
const PLAIN = "\x1b[r\x1b[m";
/** Gives every cell a color that it keeps until it is written or erased. */
const OTHER_CELLS = "\x1b[45m\x1b[2J";

/**
 * State that may have differed before: everything that the output sets somewhere, which is equal in both models from
 * there on. The rest is as the program left it at its beginning.
 */
const OTHERWISE: readonly (readonly [isSet: RegExp, otherwise: string])[] = [
	[/\x1b\[[\d;:]*m/, "\x1b[7;9;45m"],
	[/\x1b\(/, "\x1b(0"],
	[/\x1b\)/, "\x1b)0"],
	[/[\x0e\x0f]/, "\x0e"],
	[/\x1b\[4[hl]/, "\x1b[4h"],
	[/\x1b\[\?7[hl]/, "\x1b[?7l"],
	[/\x1b8|\x1b\[u/, "\x1b[2;2H\x1b7"],
	// These two change where the cursor can be.
	[/\x1b\[[\d;]*r/, "\x1b[2;3r"],
	[/\x1b\[\?6[hl]/, "\x1b[?6h"],
];

/** Returns a snapshot; undefined if older output may be visible. */
export function snapshotOfNewestOutput({ size, scrollback, before, newest }: Newest): Uint8Array | undefined {
	const models = [new XtermModel(size, scrollback), new XtermModel(size, scrollback)] as const;
	// Not at an edge, because the rest of a line there would wrap to the next row.
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
