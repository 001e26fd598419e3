/** The newest bytes of a log's output, for who wants to tell its last line. */

import type { Log } from "./log.ts";

/** Enough for a line with its colours; more than people read of one. */
export const TAIL_BYTES = 2048;

/** Programs that draw over what they wrote go up a few lines; of a flood of short ones more would only cost time. */
const TAIL_LINES = 20;

/** As far as memory has them; one character for each byte, so that they can stand in a message. */
export function readTail(log: Log): string {
	const { offset } = log.end;
	const events = log.peek(log.seqAt(Math.max(0, offset - TAIL_BYTES)), Number.POSITIVE_INFINITY);
	return tailOf(events.flatMap((event) => (event.kind === "output" ? [event.bytes.subarray(-TAIL_BYTES)] : [])));
}

/** Of pieces of output, oldest first. */
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
