/** Output of before the screen, for somebody who scrolls up to it: it is drawn again from an earlier byte on. */

import type { AttachmentEvent, Session } from "hawser/client";
import type { Emulator } from "./emulator.ts";

export type Gap = Pick<Extract<AttachmentEvent, { kind: "gap" }>, "from" | "to" | "reason">;

type Replaying = {
	/** The first byte that is to be there. */
	readonly wanted: number | undefined;
	/** Where that begins what is there now. */
	readonly loadedFrom: number | undefined;
	/** The oldest byte that can be had. */
	readonly oldest: number;
	/** The end of what is there now, and will be again. */
	readonly to: number;
	readonly gapLine: (gap: Gap) => string;
};

/** The first look back, and how much each further one has of the one before. */
const FIRST_BYTES = 512 * 1024;
const GROWTH = 4;
/** More takes a page too long, in bytes; a search or a playback leads to what is older. */
const MOST_BYTES = 16 * 1024 * 1024;
/** As many rows as that much output usually has; a wide terminal takes 100 MB for them. */
const HISTORY_ROWS = 50_000;
const NEWLINE = 0x0a;

/** Where what is there begins then. The place that somebody looks at stays the same. */
export async function replay(emulator: Emulator, session: Session, replaying: Replaying): Promise<number> {
	const { oldest, to, gapLine } = replaying;
	const { xterm } = emulator;
	const from = beginningOf(replaying);
	await emulator.settled();
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
			// Of a line that is cut the beginning is missing, and perhaps that of a sequence.
			const begin = isCut ? event.bytes.indexOf(NEWLINE) + 1 : 0;
			isCut = isCut && begin === 0;
			if (!isCut) await emulator.write(event.bytes.subarray(begin, to - event.offset));
		}
		if ((attachment.offset ?? 0) >= to) break;
	}
	await emulator.write(modes);
	await emulator.settled();
	xterm.scrollToLine(Math.max(0, xterm.buffer.active.baseY - below));
	return from;
}

function beginningOf({ wanted, loadedFrom, oldest, to }: Replaying): number {
	const span = loadedFrom === undefined ? FIRST_BYTES : (to - loadedFrom) * GROWTH;
	return Math.max(oldest, to - MOST_BYTES, Math.min(wanted ?? to, to - span));
}

/** What makes a terminal work as it does now: a program says it once, and perhaps before what is drawn again. */
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
