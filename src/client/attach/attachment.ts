/**
 * Reads and writes a session as if the connection never broke: each byte of output arrives once, each byte of input is
 * delivered once.
 *
 * Connections come and go underneath. Each starts at the reader's position and resends what the server has not
 * accepted, so it does not matter how the last one ended.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import { limits } from "../../api/messages.ts";
import { closeCodes } from "../../api/socket.ts";
import type { LeaseMessage, SendAnswer, SendInput, SendMessage } from "../../api/types.ts";
import { HawserError } from "../errors.ts";
import { type ResumableOptions, ResumableRequest } from "../http/resumable-request.ts";
import type { Transport } from "../http/transport.ts";
import { checkSignal, checkSize } from "../http/validation.ts";
import { type SendRequest, toSendInput } from "../input/send-request.ts";
import type { AttachmentEvent, ConnectionEvent } from "./event-queue.ts";
import { LeaseState, type TakeOptions } from "./lease-state.ts";
import { type Action, type Input, newStreamId, Outbox } from "./outbox.ts";
import { Reader } from "./reader.ts";
import { type LinkOptions, ReconnectingSocket } from "./reconnecting.ts";
import type { Ticket } from "./websocket.ts";

export type AttachOptions = {
	/** First output byte, or "end" for new output only. Default: 0. */
	readonly since?: number | "end";
	/**
	 * `screen` starts with events that render the terminal's screen, followed by new output; `since` is ignored. Sessions
	 * on pipes and older servers ignore it. In `bytes` the screen comes first.
	 */
	readonly from?: "screen";
	/** With `from`: rows of scrollback before the screen. Default: 0, maximum 200. */
	readonly scrollback?: number;
	/** A viewer only reads. Default: `writer`. */
	readonly role?: "writer" | "viewer";
	/** `lossless`, the default, may make the program wait for this reader; `live` may skip output, with a gap. */
	readonly flow?: "lossless" | "live";
	/** This client has a terminal that answers the program's queries when a `replies` event gives it the turn. */
	readonly replies?: boolean;
	/** Size of this client's terminal. The session follows it according to its size policy. */
	readonly size?: { readonly cols: number; readonly rows: number };
	/** Whether to send `waiting`, `ready` and `command` events. An older server ends the attachment. */
	readonly activity?: boolean;
	/** Requests the exclusive right to write on every connection, without force. */
	readonly exclusive?: boolean;
	/** Detaches when aborted. */
	readonly signal?: AbortSignal;
	/** Called at once, even if no events are read. */
	readonly onConnection?: (event: ConnectionEvent) => void;
	/**
	 * How long the server may be unreachable before the attachment ends with `node_unavailable`. Default: one minute for
	 * the first connection, so that a wrong address is noticed; no limit after that.
	 */
	readonly reconnectTimeoutMs?: number;
	/**
	 * Replaces the token for a page that has none. A string is valid for one connection; the attachment ends with it. A
	 * function creates a ticket for each connection. If it rejects, it is called again after a pause, unless the error is
	 * a `HawserError` that is not temporary.
	 */
	readonly ticket?: Ticket;
};

/** Options of one request. Aborting cancels what was not sent yet. */
export type RequestOptions = { readonly signal?: AbortSignal };

export class Attachment implements AsyncIterableIterator<AttachmentEvent, undefined> {
	readonly #reader: Reader;
	readonly #outbox = new Outbox();
	readonly #control: LeaseState;
	readonly #link: ReconnectingSocket;
	readonly #role: "writer" | "viewer";
	/** Sent on every connection. */
	readonly #hello: LinkOptions["hello"];
	readonly #signal: AbortSignal | undefined;
	readonly #onAbort = () => this.#finish(this.#signal?.reason);
	readonly #sends: ResumableRequest<SendInput, SendAnswer>;
	#bytes: ReadableStream<Uint8Array> | undefined;
	/** Why nothing can be written any more. */
	#over: { readonly error: unknown } | undefined;

	/** Starts to connect at once. */
	constructor(transport: Transport, id: string, options: AttachOptions = {}) {
		const { since = 0, role = "writer", flow = "lossless", exclusive = false, signal, reconnectTimeoutMs } = options;
		this.#role = role;
		this.#signal = signal;
		this.#hello = role === "writer" ? { role, flow, stream: newStreamId() } : { role, flow };
		if (options.replies) this.#hello.replies = true;
		if (options.activity) this.#hello.activity = true;
		if (options.size) this.#hello.size = { ...options.size };
		this.#reader = new Reader(since);
		this.#control = new LeaseState(exclusive);
		this.#link = new ReconnectingSocket({
			transport,
			id,
			hello: this.#hello,
			screen: options.from && { from: options.from, scrollback: options.scrollback ?? 0 },
			reader: this.#reader,
			outbox: this.#outbox,
			control: this.#control,
			ticket: options.ticket,
			reconnectTimeoutMs: reconnectTimeoutMs,
			onConnection: options.onConnection ?? (() => {}),
			onInputOver: (error) => this.#endInput(error),
		});
		this.#sends = new ResumableRequest({
			times: transport.times,
			ask: (input, origin, { signal }) => this.#send({ type: "send", ...origin, input }, signal),
			isTimeout: ({ cause }) => cause === "timeout",
		});
		if (signal?.aborted) this.#onAbort();
		signal?.addEventListener("abort", this.#onAbort, { once: true });
		void this.#run();
	}

	/** Offset of the first output byte not returned yet; undefined while "end" is unknown. */
	get offset(): number | undefined {
		return this.#reader.since === "end" ? undefined : this.#reader.since;
	}

	/** All output as one stream instead of events. A gap is an error. Canceling it detaches. */
	get bytes(): ReadableStream<Uint8Array> {
		this.#bytes ??= new ReadableStream<Uint8Array>(
			{ pull: (controller) => this.#pull(controller), cancel: () => this.detach() },
			// Bytes taken count as read, so take none ahead.
			{ highWaterMark: 0 },
		);
		return this.#bytes;
	}

	/** The next event. Calling it acknowledges the previous event, and lets the server send more. */
	async next(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		const result = await this.#reader.next();
		if (!result.done && (result.value.kind === "closed" || result.value.kind === "lost")) {
			// No event follows, so no further call would acknowledge this one.
			this.#reader.acknowledgeAll();
			this.#finish();
		}
		return result;
	}

	/** Leaving the loop detaches. */
	async return(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		await this.detach();
		return { value: undefined, done: true };
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	/** Resolves when the kernel has the bytes, so that the program can read them. */
	write(input: Uint8Array | string, options: RequestOptions = {}): Promise<void> {
		// Copied, because it may be sent again after the caller has reused its buffer.
		return this.#add(typeof input === "string" ? new TextEncoder().encode(input) : input.slice(), options);
	}

	/** Resizes the session, regardless of attached terminals. */
	resize(size: { readonly cols: number; readonly rows: number }, options: RequestOptions = {}): Promise<void> {
		checkSize(size);
		return this.#add({ type: "resize", cols: size.cols, rows: size.rows }, options);
	}

	/** Reports a new size of this client's terminal. A `resized` event follows if the session's size changes. */
	setSize(size: { readonly cols: number; readonly rows: number }): void {
		checkSize(size);
		this.#hello.size = { ...size };
		this.#link.say({ type: "size", ...this.#hello.size });
	}

	/** Delivered after earlier input; `urgent` overtakes input that the program has not read. */
	signal(name: string, options: RequestOptions & { readonly urgent?: boolean } = {}): Promise<void> {
		const act: Action = { type: "signal", signal: checkSignal(name), ...(options.urgent ? { urgent: true } : {}) };
		return this.#add(act, options);
	}

	/** End of input: closes a pipe, sends Ctrl-D to a terminal. */
	eof(options: RequestOptions = {}): Promise<void> {
		return this.#add({ type: "eof" }, options);
	}

	/**
	 * Sends text and keys after earlier writes, waits for the first of several conditions, and returns the output since
	 * before the first byte. Sent once, whatever happens to connections and the server.
	 */
	send(request: SendRequest, options: Omit<ResumableOptions, "fence"> = {}): Promise<SendAnswer> {
		return this.#sends.make(toSendInput(request), { timeoutMs: limits.runMs, ...options });
	}

	/** Takes control. Rejects with `not_writable` if another client has exclusive control and `force` is not set. */
	take({ exclusive = true, force = false }: TakeOptions = {}): Promise<LeaseMessage> {
		return this.#requestLease({ type: "take", exclusive, force });
	}

	release(): Promise<LeaseMessage> {
		return this.#requestLease({ type: "release" });
	}

	/**
	 * Reconnects at once instead of waiting for the next attempt. With `from`, starts with the session's screen again,
	 * for example after a gap. Pending input is still sent once.
	 */
	reconnect({ from, scrollback = 0 }: Pick<AttachOptions, "from" | "scrollback"> = {}): void {
		this.#link.reconnect(from && { from, scrollback });
	}

	/** Detaches; the program keeps running. Input that the kernel has not taken may or may not arrive. */
	async detach(): Promise<void> {
		this.#finish(new HawserError("session_closed", "detached before the input was delivered"));
	}

	/** For `await using`: detaches at the end of the block. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.detach();
	}

	async #run(): Promise<void> {
		try {
			await this.#link.run();
			this.#reader.end();
			if (this.#reader.isComplete) this.#endInput(new HawserError("session_closed", "the program has ended"));
		} catch (error) {
			this.#endInput(error);
			this.#reader.end(error);
		}
	}

	/** Without a reason, the session ended. */
	#finish(reason: unknown = new HawserError("session_closed", "the program has ended")): void {
		this.#signal?.removeEventListener("abort", this.#onAbort);
		this.#endInput(reason);
		this.#link.stop(closeCodes.done);
		this.#reader.discard();
	}

	#endInput(error: unknown): void {
		this.#over ??= { error };
		this.#outbox.fail(error);
		this.#control.fail(error);
	}

	#writeError(): { readonly error: unknown } | undefined {
		if (this.#over) return this.#over;
		if (this.#role === "viewer") return { error: new HawserError("not_writable", "viewers cannot write") };
		const error = this.#control.writeError;
		return error && { error };
	}

	#add(input: Input, { signal }: RequestOptions): Promise<void> {
		return new Promise((resolve, reject) => {
			const writeError = signal?.aborted ? { error: signal.reason } : this.#writeError();
			if (writeError) return reject(writeError.error);
			const settle = (error?: unknown) => {
				signal?.removeEventListener("abort", abort);
				if (error === undefined) resolve();
				else reject(error);
			};
			const abort = () => {
				this.#outbox.cancel(settle);
				reject(signal?.reason);
			};
			signal?.addEventListener("abort", abort, { once: true });
			this.#outbox.add(input, settle);
			this.#link.pump();
		});
	}

	async #send(message: Omit<SendMessage, "id">, signal: AbortSignal | undefined): Promise<SendAnswer> {
		const writeError = this.#writeError();
		if (writeError) throw writeError.error;
		try {
			return await this.#link.send(message, signal);
		} catch (error) {
			// There will be no other connection to send it on.
			throw this.#over ? this.#over.error : error;
		}
	}

	#requestLease(request: Parameters<LeaseState["request"]>[0]): Promise<LeaseMessage> {
		if (this.#over) return Promise.reject(this.#over.error);
		if (this.#role === "viewer") return Promise.reject(new HawserError("not_writable", "viewers cannot write"));
		const answer = this.#control.request(request);
		this.#link.say(request);
		return answer;
	}

	async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
		for (;;) {
			const { value, done } = await this.next();
			if (done) return controller.close();
			if (value.kind === "output" || value.kind === "screen") return controller.enqueue(value.bytes);
			if (value.kind !== "gap") continue;
			await this.detach();
			const message = `output bytes ${value.from} to ${value.to} are no longer available (${value.reason})`;
			return controller.error(
				new HawserError("limit_exceeded", message, { hint: "read events instead of bytes to continue after a gap" }),
			);
		}
	}
}
