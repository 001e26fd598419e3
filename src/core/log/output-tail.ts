/** The end of a log's output, from which the last line is taken. */

import type { Log } from "./log.ts";

/**
 * Enough for a line with its colors.
 * @limit output that the last line of a list comes from | %, and 20 lines | older output is not read
 */
export const TAIL_BYTES = 2048;

/** Programs that redraw go up a few lines. With a flood of short lines, more would only cost time. */
const TAIL_LINES = 20;

/** The tail as far as memory has it, one character per byte, so that it fits in a message. */
export function readTail(log: Log): string {
	const { offset } = log.end;
	const events = log.peek(log.seqAt(Math.max(0, offset - TAIL_BYTES)), Number.POSITIVE_INFINITY);
	return tailOf(events.flatMap((event) => (event.kind === "output" ? [event.bytes.subarray(-TAIL_BYTES)] : [])));
}

/** The tail of pieces of output, oldest first. */
export function tailOf(pieces: readonly Uint8Array[]): string {
	let tail = "";
	for (const bytes of pieces) tail += String.fromCharCode(...bytes);
	return newestLines(tail.slice(-TAIL_BYTES));
}

function newestLines(text: string): string {
	let from = text.length;
	for (let lines = 0; lines <= TAIL_LINES; lines++) {
		from = from === 0 ? -1 : text.lastIndexOf("\n", from - 1);
		if (from < 0) return text;
	}
	return text.slice(from + 1);
}
