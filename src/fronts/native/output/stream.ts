/** Output as server-sent events: the same cursor as everywhere, one event per item. */

import type { OutputEvent } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Item, Start } from "../../../core/log/event.ts";
import type { Session } from "../../../core/session/session.ts";
import type { StreamEvent } from "../../../http/event-stream.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";

/** Bytes per event; a multiple of three, so that base64 needs no padding. */
const PIECE_BYTES = 48 * 1024;

/** Parses `Last-Event-ID`: an offset for output events, an event number for the others. */
export function parseEventId(lastEventId: string): Exclude<Start, "end"> {
	const [, offset, seq] = /^(\d{1,16})(?::(\d{1,15}))?$/.exec(lastEventId) ?? [];
	if (seq !== undefined) return { seq: Number(seq) + 1, offset: Number(offset) };
	if (offset !== undefined && Number.isSafeInteger(Number(offset))) return { offset: Number(offset) };
	throw new SessionError("invalid_argument", "last-event-id: not an event id of this stream");
}

/** Yields events from a position. It never holds up the program: a slow client sees a gap. */
export async function* outputEvents(
	session: Session,
	options: { readonly start: Start; readonly signal: AbortSignal; readonly traffic: TrafficCounters },
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
