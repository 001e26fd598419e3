/** Reads a range of a session's log for screen models. */

import type { Event, Item, OffsetOrTime, Place } from "../../core/log/event.ts";
import type { Session } from "../../core/session/session.ts";

/** The first event that is not read, or a position: events and output bytes after it are not read. */
export type ReadingEnd = { readonly seq: number } | OffsetOrTime;

/** Items from one position up to another that the log has reached, or up to its current end. */
export async function* itemsBetween(
	session: Session,
	from: Place,
	to: ReadingEnd,
	signal: AbortSignal,
): AsyncGenerator<Item, void, void> {
	const end = await session.end();
	if ("seq" in from ? from.seq >= end.seq : from.offset >= end.offset) return;
	for await (const item of session.follow(from, { signal, isOwn: true, isBounded: true })) {
		const isLast = (item.kind === "gap" ? item.nextSeq : item.seq + 1) >= end.seq;
		if (item.kind === "gap") yield item;
		else if (isBeyond(item, to)) return;
		else yield "offset" in to && !("seq" in to) ? cut(item, to.offset) : item;
		if (isLast) return;
	}
}

function isBeyond(event: Event, to: ReadingEnd): boolean {
	if ("seq" in to) return event.seq >= to.seq;
	return "time" in to ? event.time > to.time : event.offset >= to.offset && event.offset > 0;
}

function cut(event: Event, offset: number): Event {
	return event.kind === "output" ? { ...event, bytes: event.bytes.subarray(0, offset - event.offset) } : event;
}
