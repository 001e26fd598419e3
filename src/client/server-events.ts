/** Server-sent events of one connection: what was said, until it breaks off. */

import { limits } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";
import type { Call, Transport } from "./transport.ts";

/** Without a name it only says where to go on. */
export type ServerEvent = {
	readonly event: string | undefined;
	readonly id: string | undefined;
	readonly data: string;
};

type ServerEventsOptions = Pick<Call, "path" | "query" | "signal"> & {
	/** The server has answered. */
	readonly onConnected?: () => void;
};

/** A server is never silent for longer than its heartbeat; after three of them nobody is there. */
const SILENCE_MS = 3 * limits.heartbeatMs;

/** Ends when the server ends it; throws `node_unavailable` when it breaks off, or nothing is heard for too long. */
export async function* serverEvents(
	transport: Transport,
	{ signal, onConnected, ...call }: ServerEventsOptions,
): AsyncGenerator<ServerEvent, void, void> {
	const silence = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const heard = () => {
		clearTimeout(timer);
		timer = setTimeout(() => silence.abort(), SILENCE_MS);
	};
	const abort = () => silence.abort();
	signal?.addEventListener("abort", abort, { once: true });
	if (signal?.aborted) abort();
	try {
		heard();
		const headers = { accept: "text/event-stream" };
		const response = await transport.request({ ...call, headers, signal: silence.signal });
		onConnected?.();
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
				const event = parse(block);
				if (event) yield event;
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

/** One event, or an id alone; undefined for a comment. */
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
