/**
 * Events over HTTP as execd sends them: one line of bare JSON and an empty line each, at the client's pace.
 *
 * The answer is committed with the first event, so that whatever fails before is an ordinary error. Exactly
 * one event ends the stream, and nothing follows it.
 */

import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Exit } from "../../core/event.ts";
import type { Hosting } from "../front.ts";
import { endSoon } from "../upgrade.ts";
import { errorTextOf, exitCodeOf } from "./endings.ts";

export type StreamEvent = { readonly type: string } & {
	readonly text?: string;
	/** In milliseconds; left out when zero. */
	readonly execution_time?: number;
	readonly error?: { readonly ename: string; readonly evalue: string; readonly traceback: readonly string[] };
};

/** `Connection: keep-alive` is Node's to add, unless the client asked for something else. */
const headers = {
	"content-type": "text/event-stream",
	"cache-control": "no-cache",
	"x-accel-buffering": "no",
} as const;

/** Clients drop events without a time. */
export function encodeEvent(event: StreamEvent, time: number = Date.now()): string {
	return `${JSON.stringify({ ...event, timestamp: time })}\n\n`;
}

/** The events of lines that were printed at one time, as one piece. */
export function encodeLines(type: "stdout" | "stderr", lines: readonly string[], time: number): string {
	let text = "";
	for (const line of lines) text += `{"type":"${type}","text":${JSON.stringify(line)},"timestamp":${time}}\n\n`;
	return text;
}

export function completed(ms: number): StreamEvent {
	return { type: "execution_complete", ...(ms > 0 ? { execution_time: ms } : {}) };
}

/** `value` is the exit code as clients understand it, or a sentence, from which they make none. */
export function failed(value: string, reason: string = value): StreamEvent {
	return { type: "error", error: { ename: "CommandExecError", evalue: value, traceback: [reason] } };
}

/** How a program's end is told. */
export function ended(exit: Exit | null, ms: number): StreamEvent {
	const reason = errorTextOf(exit);
	return reason === undefined ? completed(ms) : failed(String(exitCodeOf(exit)), reason);
}

export class EventStream {
	readonly #response: ServerResponse;
	readonly #reply: FastifyReply;
	readonly #hosting: Hosting;
	readonly #gone = new AbortController();
	readonly #dispose: () => void;
	#pings: NodeJS.Timeout | undefined;
	#isOver = false;

	constructor(reply: FastifyReply, hosting: Hosting) {
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
		// What can't be written any more has no reader, of which `close` tells us.
		this.#response.on("error", () => {});
		if (this.#response.destroyed) close();
		else if (reasons.some((reason) => reason?.aborted)) leave();
	}

	/** Aborted when nobody listens any more, or is to: the client has gone, its token was revoked, or the server closes. */
	get gone(): AbortSignal {
		return this.#gone.signal;
	}

	/** Begins the answer, and to ping. */
	open(first: string, pingMs: number): void {
		this.#reply.hijack();
		if (this.#isOver) return;
		const ping = { type: "ping", text: "pong" };
		this.#response.writeHead(200, { ...(this.#reply.getHeaders() as OutgoingHttpHeaders), ...headers });
		this.#response.write(first + encodeEvent(ping));
		this.#pings = setInterval(() => {
			// Who does not read what is there needs no sign of life.
			if (!this.#response.writableNeedDrain) this.#response.write(encodeEvent(ping));
		}, pingMs);
	}

	/**
	 * Makes something of so many bytes for this client when it is its turn: an event of a megabyte takes a while to
	 * write, and where many clients have one, everybody's keys would wait for all of them.
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

	/** Resolves when the client has taken enough to be given more, or is gone. */
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

	/** Sends what is last of all; of no effect after the end. */
	end(last: StreamEvent): void {
		if (this.#isOver) return;
		this.#dispose();
		this.#response.end(encodeEvent(last));
		// The connection could serve another request, for which a server that closes would wait.
		if (this.#hosting.closing.aborted && this.#response.socket) endSoon(this.#response.socket);
	}
}
