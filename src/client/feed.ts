/** What happens to all sessions, as it is told by server-sent events, across lost connections and restarts of the server. */

import type { FeedEvent, FeedType } from "../protocol/feed.ts";
import { HawserError } from "./error.ts";
import { isPassing } from "./refusal.ts";
import { type ServerEvent, serverEvents } from "./server-events.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";

export type FeedOptions = {
	/** The cursor of the last item that was seen; what comes from now on, if left out. */
	readonly since?: string;
	/** Only events of these types; `failed` is an `exited` with another code than zero or by a signal, and `lost`. */
	readonly type?: readonly FeedType[];
	/** Only those of these sessions; each label is `key` or `key=value`, and all must hold. */
	readonly workspace?: string;
	readonly task?: string;
	readonly name?: string;
	readonly label?: readonly string[];
	/** Whether `quiet` is told, of a program that runs and has written nothing for so many milliseconds. */
	readonly quietMs?: number;
	/** Whether `changed` is told: how each session looks in a list, whenever that is otherwise, once a second at most. */
	readonly overview?: boolean;
	/**
	 * Hears how far it is, over events that are not asked for as well: what to go on with later as `since`. It comes once
	 * the item before it was taken, and the next waits for it.
	 */
	readonly onCursor?: (cursor: string) => void | Promise<void>;
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

/** Ends without an error when the signal is aborted. */
export async function* followFeed(
	transport: Transport,
	{ since, overview, onConnection, onCursor, signal, ...filter }: FeedOptions = {},
): AsyncGenerator<FeedItem, void, void> {
	const backoff = new Backoff(transport.times);
	let cursor = since;
	while (!signal?.aborted) {
		let error = new HawserError("node_unavailable", "the events ended");
		try {
			const query = { ...filter, since: cursor, overview: overview ? "1" : undefined };
			const onConnected = () => onConnection?.({ state: "connected" });
			for await (const event of serverEvents(transport, { path: "/v1/events", query, signal, onConnected })) {
				if (event.id === undefined) continue;
				backoff.reset();
				const item = itemOf(event, event.id);
				if (item) yield item;
				// Only now: what nobody came to look at is told again.
				cursor = event.id;
				await onCursor?.(cursor);
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

function itemOf({ event: kind, data }: ServerEvent, cursor: string): FeedItem | undefined {
	if (kind === undefined) return undefined;
	if (kind === "gap" || kind === "begin") return { kind, cursor };
	return { kind: "event", cursor, event: JSON.parse(data) as FeedEvent };
}
