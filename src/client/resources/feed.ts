/** Events of all sessions over server-sent events, across lost connections and server restarts. */

import type { FeedEvent, FeedType } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { isTransient } from "../attach/final-errors.ts";
import { HawserError } from "../errors.ts";
import { type ServerEvent, serverEvents } from "../http/event-stream.ts";
import { Backoff } from "../http/retries.ts";
import type { Transport } from "../http/transport.ts";

export type FeedOptions = {
	/** Cursor of the last item seen. Default: events from now on. */
	readonly since?: string;
	/** Only events of these types; `failed` matches `exited` with a non-zero code or a signal, and `lost`. */
	readonly type?: readonly FeedType[];
	/** Only these sessions. Each label is `key` or `key=value`; all must match. */
	readonly workspace?: string;
	readonly task?: string;
	readonly name?: string;
	readonly label?: readonly string[];
	/** Send `quiet` for running programs without output for this many milliseconds. */
	readonly quietMs?: number;
	/** Send `changed` with the overview of each session when it changes, at most once a second. */
	readonly overview?: boolean;
	/**
	 * Called with the position after each item, and after events that were filtered out; pass it as `since` to continue
	 * later. Called after the item was consumed; the next item waits for it.
	 */
	readonly onCursor?: (cursor: string) => void | Promise<void>;
	/** Called when the connection state changes. */
	readonly onConnection?: (connection: FeedConnection) => void;
	readonly signal?: AbortSignal;
};

export type FeedConnection =
	| { readonly state: "connected" }
	/** The reason, and the delay before the next attempt. */
	| { readonly state: "disconnected"; readonly error: HawserError; readonly retryMs: number };

export type FeedItem =
	| { readonly kind: "event"; readonly cursor: string; readonly event: FeedEvent }
	/** The first item without `since`: everything after its cursor follows. */
	| { readonly kind: "begin"; readonly cursor: string }
	/** Events were missed, because they were dropped or the server is a different one. List the sessions again. */
	| { readonly kind: "gap"; readonly cursor: string };

/** Ends without an error when the signal is aborted. */
export async function* followFeed(
	transport: Transport,
	{ since, overview, onConnection, onCursor, signal, ...filter }: FeedOptions = {},
): AsyncGenerator<FeedItem, void, void> {
	const backoff = new Backoff(transport.times);
	let cursor = since;
	while (!signal?.aborted) {
		let error = new HawserError("node_unavailable", "the event stream ended");
		try {
			const query = { ...filter, since: cursor, overview };
			const onConnected = () => onConnection?.({ state: "connected" });
			for await (const event of serverEvents(transport, "followEvents", { query, signal, onConnected })) {
				if (event.id === undefined) continue;
				backoff.reset();
				const item = itemOf(event, event.id);
				if (item) yield item;
				// Only now: an item that was not consumed is sent again.
				cursor = event.id;
				await onCursor?.(cursor);
			}
		} catch (caught) {
			if (signal?.aborted) return;
			if (!(caught instanceof HawserError) || !isTransient(caught)) throw caught;
			error = caught;
		}
		const retryMs = backoff.next();
		onConnection?.({ state: "disconnected", error, retryMs });
		await sleep(retryMs, signal);
	}
}

function itemOf({ event: kind, data }: ServerEvent, cursor: string): FeedItem | undefined {
	if (kind === undefined) return undefined;
	if (kind === "gap" || kind === "begin") return { kind, cursor };
	return { kind: "event", cursor, event: JSON.parse(data) as FeedEvent };
}
