/** Server-sent events of one connection. */

import { limits } from "../../api/messages.ts";
import { HawserError } from "../errors.ts";
import type { CallOptions, Transport } from "./transport.ts";

/** An event without a name only updates the position. */
export type ServerEvent = {
	readonly event: string | undefined;
	readonly id: string | undefined;
	readonly data: string;
};

/** Operations that stream events of many sessions. */
type FollowOperation = "followEvents" | "followScreens";

type ServerEventsOptions<Name extends FollowOperation> = Pick<CallOptions<Name>, "query" | "signal"> & {
	/** Called when the server has responded. */
	readonly onConnected?: () => void;
};

/** The server sends heartbeats, so a silence of three means that the connection is dead. */
const SILENCE_MS = 3 * limits.heartbeatMs;

/** Ends when the server ends the stream. Throws `node_unavailable` if the connection breaks or stays silent. */
export async function* serverEvents<Name extends FollowOperation>(
	transport: Transport,
	operation: Name,
	{ signal, onConnected, query }: ServerEventsOptions<Name>,
): AsyncGenerator<ServerEvent, void, void> {
	const silence = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const restartTimer = () => {
		clearTimeout(timer);
		timer = setTimeout(() => silence.abort(), SILENCE_MS);
	};
	const abort = () => silence.abort();
	signal?.addEventListener("abort", abort, { once: true });
	if (signal?.aborted) abort();
	try {
		restartTimer();
		const headers = { accept: "text/event-stream" };
		const call = { query, headers, signal: silence.signal } as CallOptions<Name>;
		const response = await transport.open(operation, call);
		onConnected?.();
		const reader = response.body?.getReader();
		const decoder = new TextDecoder();
		let text = "";
		while (reader) {
			const { value, done } = await reader.read();
			if (done) return;
			restartTimer();
			text += decoder.decode(value, { stream: true });
			const blocks = text.split("\n\n");
			text = blocks.pop() ?? "";
			for (const block of blocks) {
				const event = parse(block);
				if (event) yield event;
			}
		}
	} catch (error) {
		if (error instanceof HawserError) throw error;
		// The connection broke, or was silent for too long.
		throw new HawserError("node_unavailable", "the event stream was interrupted", { cause: error });
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", abort);
		silence.abort();
	}
}

/** One event, or only an ID; undefined for a comment. */
function parse(block: string): ServerEvent | undefined {
	const field = (name: string) =>
		block
			.split("\n")
			.find((line) => line.startsWith(`${name}: `))
			?.slice(name.length + 2);
	const event = field("event");
	const id = field("id");
	return event === undefined && id === undefined ? undefined : { event, id, data: field("data") ?? "{}" };
}
