/** Output as server-sent events: the same cursor as everywhere, one event for each thing that happened. */

import { SessionError } from "../../core/errors.ts";
import type { Item, Start } from "../../core/event.ts";
import type { Session } from "../../core/session.ts";
import type { OutputEvent } from "../../protocol/past.ts";
import type { StreamEvent } from "./event-stream.ts";
import type { Traffic } from "./metrics.ts";

/** What one event carries at most; a multiple of three, so that its base64 needs no padding. */
const PIECE_BYTES = 48 * 1024;

/** Where a client that comes back wants to go on: from a byte, or after an event that has none and so is known by its number. */
export function parseEventId(lastEventId: string): Exclude<Start, "end"> {
	const [, offset, seq] = /^(\d{1,16})(?::(\d{1,15}))?$/.exec(lastEventId) ?? [];
	if (seq !== undefined) return { seq: Number(seq) + 1 };
	if (offset !== undefined && Number.isSafeInteger(Number(offset))) return { offset: Number(offset) };
	throw new SessionError("invalid_argument", "last-event-id: must be one that this stream gave");
}

/** Everything from a place on. It holds nothing: a client that is too slow finds a gap, and never makes the program wait. */
export async function* outputEvents(
	session: Session,
	options: { readonly start: Start; readonly signal: AbortSignal; readonly traffic: Traffic },
): AsyncGenerator<StreamEvent, void, void> {
	for await (const item of session.follow(options.start, { signal: options.signal })) {
		if (item.kind !== "output") {
			yield toEvent(item);
			continue;
		}
		for (let at = 0; at < item.bytes.byteLength; at += PIECE_BYTES) {
			const bytes = item.bytes.subarray(at, at + PIECE_BYTES);
			const offset = item.offset + at;
			const data: OutputEvent = { offset, stream: item.stream, data: Buffer.from(bytes).toString("base64") };
			options.traffic.bytesOut += bytes.byteLength;
			yield { event: "output", id: String(offset + bytes.byteLength), data };
		}
	}
}

function toEvent(item: Exclude<Item, { kind: "output" }>): StreamEvent {
	if (item.kind === "gap") {
		return { event: "gap", id: String(item.to), data: { from: item.from, to: item.to, reason: item.reason } };
	}
	const { kind: event, offset, seq } = item;
	const id = `${offset}:${seq}`;
	if (item.kind === "resized") return { event, id, data: { offset, ...item.size } };
	if (item.kind === "exited") return { event, id, data: { offset, exit: item.exit } };
	if (item.kind === "lost") return { event, id, data: { offset, message: item.message } };
	return { event, id, data: { offset } };
}
