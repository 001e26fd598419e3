/** Server-sent events: an answer that goes on for as long as there is something to say, at the client's pace. */

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { limits } from "../../protocol/messages.ts";
import type { Patience } from "../patience.ts";
import type { Traffic } from "./metrics.ts";

export type StreamEvent = {
	readonly event: string;
	readonly data: unknown;
	/** Where a client goes on that comes back with this as its `Last-Event-ID`. */
	readonly id?: string;
};

type StreamOptions = {
	readonly patience: Patience;
	readonly traffic: Traffic;
	readonly heartbeatMs?: number;
	/** Where the client would go on now, if that is further than the last event that it was told. */
	readonly place?: () => string | undefined;
};

/** Answers with the events; ends with them, or with the caller's patience. The stream pulls, so nothing piles up here. */
export function sendEvents(
	reply: FastifyReply,
	events: AsyncIterable<StreamEvent>,
	options: StreamOptions,
): FastifyReply {
	const { patience, traffic, heartbeatMs = limits.heartbeatMs, place = () => undefined } = options;
	async function* written(): AsyncGenerator<string, void, void> {
		traffic.streams++;
		try {
			// Says at once that somebody answers; without it the headers would wait for the first event.
			yield ":\n\n";
			for await (const event of withPauses(events, heartbeatMs)) yield event ? encode(event) : pulse(place());
		} finally {
			traffic.streams--;
			patience.end();
		}
	}
	return reply
		.type("text/event-stream; charset=utf-8")
		.headers({ "cache-control": "no-store", "x-accel-buffering": "no" })
		.send(Readable.from(written(), { objectMode: false, highWaterMark: 64 * 1024 }));
}

/** The `Last-Event-ID` with which a client comes back. */
export function lastEventId(reply: FastifyReply): string | undefined {
	const header = reply.request.headers["last-event-id"];
	return typeof header === "string" && header !== "" ? header : undefined;
}

function encode({ event, data, id }: StreamEvent): string {
	// JSON has no line breaks, so one `data:` line holds it.
	return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** An id alone is no event, and is what a client comes back with all the same. */
function pulse(id: string | undefined): string {
	return id === undefined ? ":\n\n" : `:\nid: ${id}\n\n`;
}

/** Yields undefined whenever nothing happened for a while. */
export async function* withPauses<Value>(
	values: AsyncIterable<Value>,
	ms: number,
): AsyncGenerator<Value | undefined, void, void> {
	const iterator = values[Symbol.asyncIterator]();
	let next = iterator.next();
	try {
		for (;;) {
			let timer: NodeJS.Timeout | undefined;
			const pause = new Promise<"pause">((resolve) => {
				timer = setTimeout(() => resolve("pause"), ms);
			});
			const result = await Promise.race([next, pause]);
			clearTimeout(timer);
			if (result === "pause") {
				yield undefined;
				continue;
			}
			if (result.done) return;
			yield result.value;
			next = iterator.next();
		}
	} finally {
		// Not awaited: it ends when the caller's patience does, which is what our end brings about.
		next.catch(() => {});
		void iterator.return?.()?.catch?.(() => {});
	}
}
