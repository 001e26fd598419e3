/** Server-sent events. The client's reading pace controls how fast events are produced. */

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { limits } from "../api/messages.ts";

export type StreamEvent = {
	readonly event: string;
	readonly data: unknown;
	/** The `Last-Event-ID` from which a client resumes after this event. */
	readonly id?: string;
};

type StreamOptions = {
	/** Counts the open streams. */
	readonly traffic: { streams: number };
	readonly heartbeatMs?: number;
	/** The id to resume from now, if it is beyond the last sent event. Sent with heartbeats. */
	readonly place?: () => string | undefined;
};

/** Answers with events until they end. The stream pulls, so nothing is buffered here. */
export function sendEvents(
	reply: FastifyReply,
	events: AsyncIterable<StreamEvent>,
	options: StreamOptions,
): FastifyReply {
	const { traffic, heartbeatMs = limits.heartbeatMs, place = () => undefined } = options;
	async function* written(): AsyncGenerator<string, void, void> {
		traffic.streams++;
		try {
			// Sends the headers now. Otherwise they would wait for the first event.
			yield ":\n\n";
			for await (const event of withPauses(events, heartbeatMs)) yield event ? encode(event) : pulse(place());
		} finally {
			traffic.streams--;
		}
	}
	return reply
		.type("text/event-stream; charset=utf-8")
		.headers({ "cache-control": "no-store", "x-accel-buffering": "no" })
		.send(Readable.from(written(), { objectMode: false, highWaterMark: 64 * 1024 }));
}

/** The `Last-Event-ID` with which a client resumes. */
export function lastEventId(reply: FastifyReply): string | undefined {
	const header = reply.request.headers["last-event-id"];
	return typeof header === "string" && header !== "" ? header : undefined;
}

function encode({ event, data, id }: StreamEvent): string {
	// JSON has no line breaks, so one `data:` line holds it.
	return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A heartbeat. An id without data is no event, but clients store it for `Last-Event-ID`. */
function pulse(id: string | undefined): string {
	return id === undefined ? ":\n\n" : `:\nid: ${id}\n\n`;
}

/** Yields undefined whenever no value arrived for `ms`. */
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
		// Not awaited: the iterator ends with the request's signal, which is aborted when the answer closes.
		next.catch(() => {});
		void iterator.return?.()?.catch?.(() => {});
	}
}
