/** How models read a session's log: as readers of our own, up to a place that is there already. */

import type { Event, Item, LogPlace } from "../core/event.ts";
import type { Session } from "../core/session.ts";

/** The first event that is not read, or a place: what is after it is not, and of the output nothing beyond it. */
export type ReadingEnd = { readonly seq: number } | LogPlace;

/** Everything from a place on, up to another that the log has reached, or as far as it is now. */
export async function* itemsBetween(
	session: Session,
	from: { readonly seq: number } | { readonly offset: number },
	to: ReadingEnd,
	signal: AbortSignal,
): AsyncGenerator<Item, void, void> {
	const end = await session.end();
	if ("seq" in from ? from.seq >= end.seq : from.offset >= end.offset) return;
	const start = "seq" in from ? { seq: from.seq } : { offset: from.offset };
	for await (const item of session.follow(start, { signal, isOwn: true })) {
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
