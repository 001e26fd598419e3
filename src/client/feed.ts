/** What happens to all sessions, as it is told by server-sent events, across lost connections and restarts of the server. */

import { type FeedEvent, limits } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";
import { isPassing } from "./refusal.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";

export type FeedOptions = {
	/** The cursor of the last item that was seen; what comes from now on, if left out. */
	readonly since?: string;
	/** Whether `changed` is told: how each session looks in a list, whenever that is otherwise, once a second at most. */
	readonly overview?: boolean;
	/** Hears whether the server is there, for those who show it to people. */
	readonly onConnection?: (connection: FeedConnection) => void;
	readonly signal?: AbortSignal;
};

export type FeedConnection =
	| { readonly state: "connected" }
	/** Why, and when it is tried again. */
	| { readonly state: "disconnected"; readonly error: HawserError; readonly retryMs: number };

export type FeedItem =
	| { readonly kind: "event"; readonly cursor: string; readonly event: FeedEvent }
	/** The first item without `since`: everything after its cursor will be told. */
	| { readonly kind: "begin"; readonly cursor: string }
	/** Something was missed, because it is forgotten or the server is another one: list the sessions anew. */
	| { readonly kind: "gap"; readonly cursor: string };

/** A server is never silent for longer than its heartbeat; after three of them nobody is there. */
const SILENCE_MS = 3 * limits.heartbeatMs;

/** Ends without an error when the signal is aborted. */
export async function* followFeed(
	transport: Transport,
	{ since, overview, onConnection, signal }: FeedOptions = {},
): AsyncGenerator<FeedItem, void, void> {
	const backoff = new Backoff(transport.times);
	let cursor = since;
	while (!signal?.aborted) {
		let error = new HawserError("node_unavailable", "the events ended");
		try {
			const query = { since: cursor, overview: overview ? ("1" as const) : undefined };
			const connected = () => onConnection?.({ state: "connected" });
			for await (const item of connection(transport, query, { connected, signal })) {
				backoff.reset();
				cursor = item.cursor;
				yield item;
			}
		} catch (caught) {
			if (signal?.aborted) return;
			if (!(caught instanceof HawserError) || !isPassing(caught)) throw caught;
			error = caught;
		}
		const retryMs = backoff.next();
		onConnection?.({ state: "disconnected", error, retryMs });
		await pause(retryMs, signal);
	}
}

async function* connection(
	transport: Transport,
	query: { readonly since: string | undefined; readonly overview: "1" | undefined },
	{ connected, signal }: { readonly connected: () => void; readonly signal: AbortSignal | undefined },
): AsyncGenerator<FeedItem, void, void> {
	const silence = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const heard = () => {
		clearTimeout(timer);
		timer = setTimeout(() => silence.abort(), SILENCE_MS);
	};
	const abort = () => silence.abort();
	signal?.addEventListener("abort", abort, { once: true });
	try {
		heard();
		const headers = { accept: "text/event-stream" };
		const response = await transport.request({ path: "/v1/events", query, headers, signal: silence.signal });
		connected();
		const reader = response.body?.getReader();
		const decoder = new TextDecoder();
		let text = "";
		while (reader) {
			const { value, done } = await reader.read();
			if (done) return;
			heard();
			text += decoder.decode(value, { stream: true });
			const blocks = text.split("\n\n");
			text = blocks.pop() ?? "";
			for (const block of blocks) {
				const item = parse(block);
				if (item) yield item;
			}
		}
	} catch (error) {
		if (error instanceof HawserError) throw error;
		// It broke off, or was silent for too long.
		throw new HawserError("node_unavailable", "the events broke off", { cause: error });
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", abort);
		silence.abort();
	}
}

/** One event; undefined for a comment. */
function parse(block: string): FeedItem | undefined {
	const field = (name: string) =>
		block
			.split("\n")
			.find((line) => line.startsWith(`${name}: `))
			?.slice(name.length + 2);
	const kind = field("event");
	const cursor = field("id");
	if (kind === undefined || cursor === undefined) return undefined;
	const event = JSON.parse(field("data") ?? "{}") as FeedEvent;
	if (kind === "gap" || kind === "begin") return { kind, cursor };
	return { kind: "event", cursor, event };
}
