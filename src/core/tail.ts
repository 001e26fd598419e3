/** The newest bytes of a log's output, for who wants to tell its last line. */

import type { Log } from "./log.ts";

/** Enough for a line with its colours; more than people read of one. */
export const TAIL_BYTES = 2048;

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
	return tail.slice(-TAIL_BYTES);
}
