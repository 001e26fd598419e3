/** Loads output older than the screen when the user scrolls up, by replaying from an earlier byte. */

import type { AttachmentEvent, Session } from "hawser/client";
import type { Emulator } from "./emulator.ts";

export type Gap = Pick<Extract<AttachmentEvent, { kind: "gap" }>, "from" | "to" | "reason">;

type ReplayOptions = {
	/** First byte wanted. */
	readonly wanted: number | undefined;
	/** First byte that is loaded now. */
	readonly loadedFrom: number | undefined;
	/** Oldest byte available. */
	readonly oldest: number;
	/** End of the loaded output, which the replay reaches again. */
	readonly to: number;
	readonly gapLine: (gap: Gap) => string;
};

/** First step back, and the factor of each further step. */
const FIRST_BYTES = 512 * 1024;
const GROWTH = 4;
/**
 * A larger replay takes a page too long; search and playback reach older output.
 * @limit output that a page loads for scrolling up | older output is left to search and playback
 */
const MOST_BYTES = 16 * 1024 * 1024;
/**
 * The usual number of rows for that much output. In a wide terminal they take 100 MB.
 * @limit rows that a page loads for scrolling up | the same
 */
const HISTORY_ROWS = 50_000;
const NEWLINE = 0x0a;

/** Returns the new start of the loaded output. Keeps the scroll position. */
export async function replay(emulator: Emulator, session: Session, replaying: ReplayOptions): Promise<number> {
	const { oldest, to, gapLine } = replaying;
	const { xterm } = emulator;
	const from = replayStart(replaying);
	await emulator.drained();
	const below = xterm.buffer.active.baseY - xterm.buffer.active.viewportY;
	const modes = modesOf(emulator);
	xterm.reset();
	xterm.options.scrollback = HISTORY_ROWS;
	const attachment = session.attach({ since: from, role: "viewer", flow: "lossless" });
	let isCut = from > oldest;
	for await (const event of attachment) {
		if (event.kind === "resized" && event.offset < to) await emulator.resize(event);
		if (event.kind === "gap") await emulator.write(gapLine(event));
		if (event.kind === "output") {
			// The first line may be partial, and start inside a sequence.
			const begin = isCut ? event.bytes.indexOf(NEWLINE) + 1 : 0;
			isCut = isCut && begin === 0;
			if (!isCut) await emulator.write(event.bytes.subarray(begin, to - event.offset));
		}
		if ((attachment.offset ?? 0) >= to) break;
	}
	await emulator.write(modes);
	await emulator.drained();
	xterm.scrollToLine(Math.max(0, xterm.buffer.active.baseY - below));
	return from;
}

function replayStart({ wanted, loadedFrom, oldest, to }: ReplayOptions): number {
	const span = loadedFrom === undefined ? FIRST_BYTES : (to - loadedFrom) * GROWTH;
	return Math.max(oldest, to - MOST_BYTES, Math.min(wanted ?? to, to - span));
}

/** Sequences that restore the terminal's modes. The program may have set them before the replayed output. */
function modesOf({ xterm: { modes } }: Emulator): string {
	const set = (mode: number, isOn: boolean) => `\u001b[?${mode}${isOn ? "h" : "l"}`;
	return (
		set(1, modes.applicationCursorKeysMode) +
		set(2004, modes.bracketedPasteMode) +
		set(1004, modes.sendFocusMode) +
		set(7, modes.wraparoundMode) +
		(modes.applicationKeypadMode ? "\u001b=" : "\u001b>")
	);
}
