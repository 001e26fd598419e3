/** Readers of every kind: each follows one session to its end, whatever happens to its connections. */

import { setTimeout as sleep } from "node:timers/promises";
import { outputHeaders } from "../src/api/messages.ts";
import { follow, type Session } from "../src/client/index.ts";
import type { Transcript } from "./record.ts";

export type Source = {
	readonly session: Session;
	readonly url: string;
	readonly token: string;
	/** Aborted when the run gives up. */
	readonly signal: AbortSignal;
};

export type Read = (source: Source, transcript: Transcript) => Promise<void>;

export const readers: Readonly<Record<string, Read>> = {
	"lossless attachment": (source, transcript) => attach(source, transcript, "lossless"),
	"live attachment": (source, transcript) => attach(source, transcript, "live"),
	"SDK follower": followBySdk,
	"HTTP poller": pollByHttp,
	"event stream": followEventStream,
};

const RETRY_MS = 50;
/** Longer than any wait asked for, plus any pause of the server that a fault makes. */
const REQUEST_MS = 20_000;
/** Statuses that a client may retry: too many requests, and no answer from the server or the keeper. */
const TEMPORARY = new Set([429, 503]);

async function attach({ session, signal }: Source, transcript: Transcript, flow: "lossless" | "live"): Promise<void> {
	const attachment = session.attach({
		role: flow === "live" ? "viewer" : "writer",
		flow,
		signal,
		reconnectTimeoutMs: Number.POSITIVE_INFINITY,
	});
	for await (const event of attachment) {
		if (event.kind === "output") transcript.output(event.offset, event.bytes);
		if (event.kind === "gap") transcript.gap(event.from, event.to, event.reason);
		if (event.kind === "exited") transcript.exited(event.exit.code);
		if (event.kind === "closed" || event.kind === "lost") transcript.end(event.kind, event.offset);
	}
}

async function followBySdk({ session, signal }: Source, transcript: Transcript): Promise<void> {
	const options = { signal, reconnectTimeoutMs: Number.POSITIVE_INFINITY };
	for await (const output of follow(session, transcript.next, options)) {
		if (output.gap) transcript.gap(output.gap.from, output.gap.to, output.gap.reason);
		transcript.output(output.offset, output.bytes);
		if (!output.isLast) continue;
		transcript.exited(output.exit?.code ?? null);
		transcript.end(output.state === "lost" ? "lost" : "closed", output.end);
	}
}

async function pollByHttp(source: Source, transcript: Transcript): Promise<void> {
	while (!source.signal.aborted) {
		const response = await ask(source, `/output?since=${transcript.next}&wait=1000`);
		if (!response) continue;
		const { headers, body } = response;
		const [, from, to, reason] = /from=(\d+), to=(\d+), reason=(\w+)/.exec(headers.get(outputHeaders.gap) ?? "") ?? [];
		if (reason !== undefined) transcript.gap(Number(from), Number(to), reason);
		transcript.output(Number(headers.get(outputHeaders.offset)), body);
		const state = headers.get(outputHeaders.state);
		const end = Number(headers.get(outputHeaders.end));
		if ((state !== "closed" && state !== "lost") || Number(headers.get(outputHeaders.next)) < end) continue;
		const exit = headers.get(outputHeaders.exit);
		transcript.exited(exit === null ? null : (JSON.parse(exit) as { code: number | null }).code);
		transcript.end(state, end);
		return;
	}
}

type Answer = { readonly headers: Headers; readonly body: Buffer };

/** The whole answer, or nothing when the request may be repeated. */
async function ask({ session, url, token }: Source, path: string): Promise<Answer | undefined> {
	try {
		const headers = { authorization: `Bearer ${token}` };
		const response = await fetch(`${url}/v1/sessions/${session.id}${path}`, {
			headers,
			signal: AbortSignal.timeout(REQUEST_MS),
		});
		const body = Buffer.from(await response.arrayBuffer());
		if (response.ok) return { headers: response.headers, body };
		if (!TEMPORARY.has(response.status)) throw new Error(`${path}: ${response.status} ${body.toString()}`);
	} catch (error) {
		// No server, or one that ended while it answered: fetch reports both as a TypeError.
		if (!(error instanceof TypeError)) throw error;
	}
	await sleep(RETRY_MS);
	return undefined;
}

type StreamMessage = {
	readonly event: string;
	readonly id: string | undefined;
	readonly data: {
		readonly offset: number;
		readonly data: string;
		readonly from: number;
		readonly to: number;
		readonly reason: string;
		readonly exit: { readonly code: number | null };
	};
};

async function followEventStream(source: Source, transcript: Transcript): Promise<void> {
	const { session, url, token, signal } = source;
	let lastId: string | undefined;
	while (!signal.aborted && !transcript.ending) {
		// One for each request: listeners of a shared signal would pile up over thousands of requests.
		const request = new AbortController();
		const onAbort = () => request.abort();
		signal.addEventListener("abort", onAbort, { once: true });
		try {
			const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
			const response = await fetch(`${url}/v1/sessions/${session.id}/output`, {
				headers: { ...headers, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
				signal: request.signal,
			});
			if (!response.ok || !response.body) {
				const text = await response.text();
				if (!TEMPORARY.has(response.status)) throw new Error(`event stream: ${response.status} ${text}`);
				await sleep(RETRY_MS);
				continue;
			}
			for await (const message of messagesOf(response.body)) {
				take(message, transcript);
				lastId = message.id ?? lastId;
			}
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof TypeError)) throw error;
			await sleep(RETRY_MS);
		} finally {
			signal.removeEventListener("abort", onAbort);
		}
	}
}

function take({ event, data }: StreamMessage, transcript: Transcript): void {
	if (event === "output") transcript.output(data.offset, Buffer.from(data.data, "base64"));
	if (event === "gap") transcript.gap(data.from, data.to, data.reason);
	if (event === "exited") transcript.exited(data.exit.code);
	if (event === "closed" || event === "lost") transcript.end(event, data.offset);
}

/** Messages that arrived whole; a part at the end of a broken connection is dropped, as EventSource does. */
async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage, void, void> {
	let text = "";
	const decoder = new TextDecoder();
	for await (const bytes of body) {
		text += decoder.decode(bytes, { stream: true });
		for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
			const fields = new Map(
				text
					.slice(0, end)
					.split("\n")
					.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()] as const),
			);
			text = text.slice(end + 2);
			const [event, data] = [fields.get("event"), fields.get("data")];
			if (event !== undefined && data !== undefined) yield { event, id: fields.get("id"), data: JSON.parse(data) };
		}
	}
}
