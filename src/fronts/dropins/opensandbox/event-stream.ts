/**
 * Server-sent events in execd's format: a line of bare JSON and an empty line each, at the client's pace.
 *
 * The response starts with the first event, so earlier failures are ordinary errors. Exactly one event ends the stream,
 * and nothing follows it.
 */

import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { ServerContext } from "../../../http/front.ts";
import { endSoon } from "../../../http/upgrade.ts";
import type { Exit } from "../../../words/state.ts";
import { errorTextOf, exitCodeOf } from "./exit-text.ts";

export type StreamEvent = { readonly type: string } & {
	readonly text?: string;
	/** In milliseconds; absent if zero. */
	readonly execution_time?: number;
	readonly error?: { readonly ename: string; readonly evalue: string; readonly traceback: readonly string[] };
};

/** Node adds `Connection: keep-alive` itself. */
const headers = {
	"content-type": "text/event-stream",
	"cache-control": "no-cache",
	"x-accel-buffering": "no",
} as const;

/** Clients drop events without a timestamp. */
export function encodeEvent(event: StreamEvent, time: number = Date.now()): string {
	return `${JSON.stringify({ ...event, timestamp: time })}\n\n`;
}

/** Encodes lines that arrived together. */
export function encodeLines(type: "stdout" | "stderr", lines: readonly string[], time: number): string {
	let text = "";
	for (const line of lines) text += `{"type":"${type}","text":${JSON.stringify(line)},"timestamp":${time}}\n\n`;
	return text;
}

export function completed(ms: number): StreamEvent {
	return { type: "execution_complete", ...(ms > 0 ? { execution_time: ms } : {}) };
}

/** `value` is the exit code, or a text, which clients do not take for one. */
export function failed(value: string, reason: string = value): StreamEvent {
	return { type: "error", error: { ename: "CommandExecError", evalue: value, traceback: [reason] } };
}

/** The event for a program's end. */
export function ended(exit: Exit | null, ms: number): StreamEvent {
	const reason = errorTextOf(exit);
	return reason === undefined ? completed(ms) : failed(String(exitCodeOf(exit)), reason);
}

export class EventStream {
	readonly #response: ServerResponse;
	readonly #reply: FastifyReply;
	readonly #hosting: ServerContext;
	readonly #gone = new AbortController();
	readonly #dispose: () => void;
	#pings: NodeJS.Timeout | undefined;
	#isOver = false;

	constructor(reply: FastifyReply, hosting: ServerContext) {
		this.#reply = reply;
		this.#hosting = hosting;
		this.#response = reply.raw;
		const leave = () => this.#gone.abort();
		const reasons = [hosting.closing, reply.request.principal?.revoked];
		for (const reason of reasons) reason?.addEventListener("abort", leave, { once: true });
		const close = () => {
			this.#dispose();
			leave();
		};
		this.#dispose = () => {
			this.#isOver = true;
			clearInterval(this.#pings);
			for (const reason of reasons) reason?.removeEventListener("abort", leave);
			this.#response.removeListener("close", close);
		};
		this.#response.once("close", close);
		// A failed write means that the reader has gone, which `close` reports.
		this.#response.on("error", () => {});
		if (this.#response.destroyed) close();
		else if (reasons.some((reason) => reason?.aborted)) leave();
	}

	/** Aborted when the stream must end: the client left, its token was revoked, or the server is closing. */
	get gone(): AbortSignal {
		return this.#gone.signal;
	}

	/** Starts the response and its pings. */
	open(first: string, pingMs: number): void {
		this.#reply.hijack();
		if (this.#isOver) return;
		const ping = { type: "ping", text: "pong" };
		this.#response.writeHead(200, { ...(this.#reply.getHeaders() as OutgoingHttpHeaders), ...headers });
		this.#response.write(first + encodeEvent(ping));
		this.#pings = setInterval(() => {
			// A client with unread events needs no ping.
			if (!this.#response.writableNeedDrain) this.#response.write(encodeEvent(ping));
		}, pingMs);
	}

	/**
	 * Runs `make` when it is this client's turn. Encoding a 1 MB event takes time, and without turns other clients' input
	 * would wait for many of them.
	 */
	inTurn<T>(bytes: number, make: () => T): Promise<T> {
		return new Promise((resolve, reject) => {
			this.#hosting.share.take(this, bytes, () => {
				try {
					resolve(make());
				} catch (error) {
					reject(error);
				}
			});
		});
	}

	/** Resolves when more may be written or the client left. */
	async write(text: string): Promise<void> {
		if (this.#isOver || text === "" || this.#response.write(text)) return;
		await new Promise<void>((resolve) => {
			const done = () => {
				this.#response.removeListener("drain", done);
				this.gone.removeEventListener("abort", done);
				resolve();
			};
			this.#response.once("drain", done);
			this.gone.addEventListener("abort", done, { once: true });
			if (this.gone.aborted) done();
		});
	}

	/** Sends the last event. No effect after the end. */
	end(last: StreamEvent): void {
		if (this.#isOver) return;
		this.#dispose();
		this.#response.end(encodeEvent(last));
		// A closing server would otherwise wait for this keep-alive connection.
		if (this.#hosting.closing.aborted && this.#response.socket) endSoon(this.#response.socket);
	}
}
