/**
 * A session as if the connection never broke: output to read, input to send, each byte once.
 *
 * Connections come and go underneath. Each begins where the reader stands and sends again what the
 * server has not accepted, so nothing has to be known about how the last one ended.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import type { SendAnswer, SendInput } from "../protocol/acts.ts";
import { limits } from "../protocol/messages.ts";
import { closeCodes, type LeaseMessage, type SendMessage } from "../protocol/socket.ts";
import { checkSignal, checkSize } from "./checks.ts";
import { Control, type TakeOptions } from "./control.ts";
import { HawserError } from "./error.ts";
import type { AttachmentEvent, ConnectionEvent } from "./event-queue.ts";
import { LastingCall, type LastingOptions } from "./lasting-call.ts";
import { Link, type LinkOptions } from "./link.ts";
import { type Act, type Input, newStreamId, Outbox } from "./outbox.ts";
import { Reader } from "./reader.ts";
import { type SendRequest, toSendInput } from "./send-request.ts";
import type { Transport } from "./transport.ts";
import type { Ticket } from "./web-socket.ts";

export type AttachOptions = {
	/** The first output byte wanted, or only what comes from now on; 0 by default. */
	readonly since?: number | "end";
	/**
	 * `screen`: begins with events that draw what the terminal shows, and then all that follows, instead of the output from
	 * `since` on; that it is on pipes, and on servers that are older. `bytes` has the screen first.
	 */
	readonly from?: "screen";
	/** With `from`: how many rows of what was scrolled away come before the screen; none by default, 200 at most. */
	readonly scrollback?: number;
	/** A viewer only reads. `writer` by default. */
	readonly role?: "writer" | "viewer";
	/** `lossless`, the default, may make the program wait for this reader; `live` may skip output, with a gap. */
	readonly flow?: "lossless" | "live";
	/** A terminal is behind this that answers what the program asks, where a `replies` event says that it is its turn. */
	readonly replies?: boolean;
	/** Of the terminal behind this: the session's size follows it as the session's policy says. */
	readonly size?: { readonly cols: number; readonly rows: number };
	/** Whether `waiting`, `ready` and `command` events are wanted, too; a server that is older ends the attachment. */
	readonly activity?: boolean;
	/** Demands that nobody else may write, on every connection, but not by force. */
	readonly exclusive?: boolean;
	/** Detaches. */
	readonly signal?: AbortSignal;
	/** Told at once, whether or not anybody reads events. */
	readonly onConnection?: (event: ConnectionEvent) => void;
	/** How long the server may be away before we give up with `node_unavailable`; for ever by default. */
	readonly patienceMs?: number;
	/** Shown instead of a token, by a page that has none. A string is good for one connection: when that is lost, the attachment ends. */
	readonly ticket?: Ticket;
};

/** For one request; aborting it takes back what was not sent yet. */
export type ActOptions = { readonly signal?: AbortSignal };

export class Attachment implements AsyncIterableIterator<AttachmentEvent, undefined> {
	readonly #reader: Reader;
	readonly #outbox = new Outbox();
	readonly #control: Control;
	readonly #link: Link;
	readonly #role: "writer" | "viewer";
	/** What is said on every connection. */
	readonly #hello: LinkOptions["hello"];
	readonly #signal: AbortSignal | undefined;
	readonly #onAbort = () => this.#finish(this.#signal?.reason);
	readonly #sends: LastingCall<SendInput, SendAnswer>;
	#bytes: ReadableStream<Uint8Array> | undefined;
	/** Why nothing can be written any more. */
	#over: { readonly error: unknown } | undefined;

	/** Begins to connect at once. */
	constructor(transport: Transport, id: string, options: AttachOptions = {}) {
		const { since = 0, role = "writer", flow = "lossless", exclusive = false, signal, patienceMs } = options;
		this.#role = role;
		this.#signal = signal;
		this.#hello = role === "writer" ? { role, flow, stream: newStreamId() } : { role, flow };
		if (options.replies) this.#hello.replies = true;
		if (options.activity) this.#hello.activity = true;
		if (options.size) this.#hello.size = { ...options.size };
		this.#reader = new Reader(since);
		this.#control = new Control(exclusive);
		this.#link = new Link({
			transport,
			id,
			hello: this.#hello,
			screen: options.from && { from: options.from, scrollback: options.scrollback ?? 0 },
			reader: this.#reader,
			outbox: this.#outbox,
			control: this.#control,
			ticket: options.ticket,
			patienceMs: patienceMs ?? Number.POSITIVE_INFINITY,
			onConnection: options.onConnection ?? (() => {}),
			onInputOver: (error) => this.#endInput(error),
		});
		this.#sends = new LastingCall({
			times: transport.times,
			ask: (input, origin, { signal }) => this.#send({ type: "send", ...origin, input }, signal),
			isTimeout: ({ cause }) => cause === "timeout",
		});
		if (signal?.aborted) this.#onAbort();
		signal?.addEventListener("abort", this.#onAbort, { once: true });
		void this.#run();
	}

	/** The offset of the first output byte that was not handed over yet; undefined while "end" is not known. */
	get offset(): number | undefined {
		return this.#reader.since === "end" ? undefined : this.#reader.since;
	}

	/** All output as one stream, instead of events; a gap is an error here. To cancel it is to detach. */
	get bytes(): ReadableStream<Uint8Array> {
		this.#bytes ??= new ReadableStream<Uint8Array>(
			{ pull: (controller) => this.#pull(controller), cancel: () => this.detach() },
			// Nothing is taken before it is asked for: what is taken counts as dealt with.
			{ highWaterMark: 0 },
		);
		return this.#bytes;
	}

	/** The next event. Asking for one says that the last was dealt with, and lets the server send more. */
	async next(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		const result = await this.#reader.next();
		if (!result.done && (result.value.kind === "closed" || result.value.kind === "lost")) {
			// Nothing follows, so nobody may come back to say so.
			this.#reader.finish();
			this.#finish();
		}
		return result;
	}

	/** Breaking off a loop detaches. */
	async return(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		await this.detach();
		return { value: undefined, done: true };
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	/** Resolves when the kernel took it: the program can read it now. */
	write(input: Uint8Array | string, options: ActOptions = {}): Promise<void> {
		// A copy, because it may have to be sent again when the caller has used its buffer for something else.
		return this.#add(typeof input === "string" ? new TextEncoder().encode(input) : input.slice(), options);
	}

	/** Gives the session itself another size, whatever anybody's terminal has. */
	resize(size: { readonly cols: number; readonly rows: number }, options: ActOptions = {}): Promise<void> {
		checkSize(size);
		return this.#add({ type: "resize", cols: size.cols, rows: size.rows }, options);
	}

	/** The terminal behind this has another size now. What becomes of the session's size is told by `resized`. */
	setSize(size: { readonly cols: number; readonly rows: number }): void {
		checkSize(size);
		this.#hello.size = { ...size };
		this.#link.say({ type: "size", ...this.#hello.size });
	}

	/** In line with what was typed before it; `urgent` overtakes what the program has not read. */
	signal(name: string, options: ActOptions & { readonly urgent?: boolean } = {}): Promise<void> {
		const act: Act = { type: "signal", signal: checkSignal(name), ...(options.urgent ? { urgent: true } : {}) };
		return this.#add(act, options);
	}

	/** The end of the program's input: a pipe is closed, a terminal gets Ctrl-D. */
	eof(options: ActOptions = {}): Promise<void> {
		return this.#add({ type: "eof" }, options);
	}

	/**
	 * Types text and keys in order with what was written before, waits for the first of several causes, and reads what was
	 * written since before the first byte was typed. It is typed once, whatever happens to connections and to the server.
	 */
	send(request: SendRequest, options: Omit<LastingOptions, "fence"> = {}): Promise<SendAnswer> {
		return this.#sends.make(toSendInput(request), { timeoutMs: limits.runMs, ...options });
	}

	/** Gets control; rejects with `not_writable` when somebody has it exclusively and `force` is not given. */
	take({ exclusive = true, force = false }: TakeOptions = {}): Promise<LeaseMessage> {
		return this.#demand({ type: "take", exclusive, force });
	}

	release(): Promise<LeaseMessage> {
		return this.#demand({ type: "release" });
	}

	/**
	 * Connects anew at once: for somebody who does not want to wait for the next attempt, and with `from` for a terminal
	 * that is to begin again with what the session's shows, such as after a gap. What was typed is still sent once.
	 */
	reconnect({ from, scrollback = 0 }: Pick<AttachOptions, "from" | "scrollback"> = {}): void {
		this.#link.renew(from && { from, scrollback });
	}

	/** Leaves; the program runs on. What the kernel has not taken of our input may or may not arrive. */
	async detach(): Promise<void> {
		this.#finish(new HawserError("session_closed", "detached before the program's side took it"));
	}

	/** `await using`: detaches with the block. */
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

	/** Undefined as reason: the session ended before us. */
	#finish(reason: unknown = new HawserError("session_closed", "the program has ended")): void {
		this.#signal?.removeEventListener("abort", this.#onAbort);
		this.#endInput(reason);
		this.#link.stop(closeCodes.done);
		this.#reader.drop();
	}

	#endInput(error: unknown): void {
		this.#over ??= { error };
		this.#outbox.fail(error);
		this.#control.fail(error);
	}

	#obstacle(): { readonly error: unknown } | undefined {
		if (this.#over) return this.#over;
		if (this.#role === "viewer") return { error: new HawserError("not_writable", "a viewer does not write") };
		const error = this.#control.obstacle;
		return error && { error };
	}

	#add(input: Input, { signal }: ActOptions): Promise<void> {
		return new Promise((resolve, reject) => {
			const obstacle = signal?.aborted ? { error: signal.reason } : this.#obstacle();
			if (obstacle) return reject(obstacle.error);
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
		const obstacle = this.#obstacle();
		if (obstacle) throw obstacle.error;
		try {
			return await this.#link.send(message, signal);
		} catch (error) {
			// There will be no other connection to ask on.
			throw this.#over ? this.#over.error : error;
		}
	}

	#demand(demand: Parameters<Control["demand"]>[0]): Promise<LeaseMessage> {
		if (this.#over) return Promise.reject(this.#over.error);
		if (this.#role === "viewer") return Promise.reject(new HawserError("not_writable", "a viewer does not write"));
		const answer = this.#control.demand(demand);
		this.#link.say(demand);
		return answer;
	}

	async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
		for (;;) {
			const { value, done } = await this.next();
			if (done) return controller.close();
			if (value.kind === "output" || value.kind === "screen") return controller.enqueue(value.bytes);
			if (value.kind !== "gap") continue;
			await this.detach();
			const message = `the output from byte ${value.from} up to ${value.to} is gone (${value.reason})`;
			return controller.error(new HawserError("limit_exceeded", message, { hint: "read events to go on after a gap" }));
		}
	}
}
