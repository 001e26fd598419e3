/** One session on a server, as a program sees it. */

import {
	type ExitMessage,
	type InputReceipt,
	inputKeyHeader,
	limits,
	outputHeaders,
	type SessionMessage,
	type SessionState,
} from "../protocol/messages.ts";
import type { Transport } from "./transport.ts";

export type OutputOptions = {
	/** How long to wait, in milliseconds, when there is nothing yet; the server caps it at a minute. */
	readonly wait?: number;
	/** How many bytes at most. */
	readonly max?: number;
	readonly signal?: AbortSignal;
};

/** Output from an offset on, and how the session stood after it. */
export type Output = {
	readonly offset: number;
	readonly bytes: Uint8Array;
	/** Where to go on reading. */
	readonly next: number;
	readonly end: number;
	readonly state: SessionState;
	readonly exit: ExitMessage | null;
	/** Bytes that were asked for and are gone. */
	readonly gap: { readonly from: number; readonly to: number; readonly reason: string } | null;
	/** Nothing can follow. */
	readonly isLast: boolean;
};

export type WriteOptions = {
	/** The name of the input stream, and the position of the first byte in it; both or neither. */
	readonly stream?: string;
	readonly position?: number;
	/** Resolves when the program's side took the bytes, rather than when the server has them. */
	readonly untilWritten?: boolean;
	readonly signal?: AbortSignal;
};

export type KillOptions = { readonly signal?: string; readonly graceMs?: number };

type Origin = { readonly stream: string; readonly position: number };

/** How much input goes into one request: less than a server's limit. */
const PIECE_BYTES = limits.bodyBytes / 2;

export class Session {
	readonly id: string;
	readonly #transport: Transport;
	/** Where our own writes go that name no stream. */
	#own: Origin = { stream: newStream(), position: 0 };
	#lastWrite: Promise<unknown> = Promise.resolve();

	constructor(transport: Transport, id: string) {
		this.#transport = transport;
		this.id = id;
	}

	async info(): Promise<SessionMessage> {
		const response = await this.#transport.request({ path: this.#path() });
		return (await response.json()) as SessionMessage;
	}

	/** What there is from `since` on. Without `wait` it answers at once, perhaps with nothing. */
	async output(since = 0, { wait, max, signal }: OutputOptions = {}): Promise<Output> {
		const response = await this.#transport.request({
			path: this.#path("/output"),
			query: { since, wait, max },
			signal,
		});
		const bytes = await this.#transport.body(response, signal);
		return toOutput(response.headers, bytes);
	}

	/**
	 * Writes in the order of the calls. A write that names its stream and position may be repeated after a
	 * lost connection, and is carried out once however often it arrives.
	 */
	write(bytes: Uint8Array, options: WriteOptions = {}): Promise<InputReceipt> {
		if ((options.stream === undefined) !== (options.position === undefined)) {
			throw new TypeError("stream and position go together");
		}
		const done = this.#lastWrite.then(() => this.#deliver(bytes, options));
		// The next write waits for this one, and must not fail with it.
		this.#lastWrite = done.catch(() => undefined);
		return done;
	}

	/** Ends the whole tree of processes and keeps the session's record. */
	async kill(options: KillOptions = {}): Promise<SessionMessage> {
		const response = await this.#transport.request({
			method: "DELETE",
			path: this.#path(),
			query: { keep: "1", ...options },
		});
		return (await response.json()) as SessionMessage;
	}

	/** Ends the session if it runs, and forgets it. */
	async remove(): Promise<void> {
		await this.#transport.request({ method: "DELETE", path: this.#path() });
	}

	async #deliver(bytes: Uint8Array, options: WriteOptions): Promise<InputReceipt> {
		if (options.stream !== undefined && options.position !== undefined) {
			return this.#send(bytes, { stream: options.stream, position: options.position }, options);
		}
		const origin = this.#own;
		// Until it is known to have arrived, what follows must not count on it: a failure starts a new stream.
		this.#own = { stream: newStream(), position: 0 };
		const receipt = await this.#send(bytes, origin, options);
		this.#own = { stream: origin.stream, position: receipt.next };
		return receipt;
	}

	async #send(bytes: Uint8Array, { stream, position }: Origin, options: WriteOptions): Promise<InputReceipt> {
		let from = 0;
		for (;;) {
			const piece = bytes.slice(from, from + PIECE_BYTES);
			const response = await this.#transport.request({
				method: "POST",
				path: this.#path("/input"),
				query: { wait: options.untilWritten ? "written" : undefined },
				headers: { [inputKeyHeader]: `${stream}:${position + from}` },
				bytes: piece,
				signal: options.signal,
			});
			from += piece.byteLength;
			if (from >= bytes.byteLength) return (await response.json()) as InputReceipt;
			await response.body?.cancel();
		}
	}

	#path(rest = ""): string {
		return `/v1/sessions/${encodeURIComponent(this.id)}${rest}`;
	}
}

function newStream(): string {
	return globalThis.crypto.randomUUID();
}

function toOutput(headers: Headers, bytes: Uint8Array): Output {
	const number = (name: string) => Number(headers.get(name) ?? 0);
	const next = number(outputHeaders.next);
	const end = number(outputHeaders.end);
	const state = (headers.get(outputHeaders.status) ?? "running") as SessionState;
	const exit = headers.get(outputHeaders.exit);
	const [, from, to, reason] = /from=(\d+), to=(\d+), reason=(\w+)/.exec(headers.get(outputHeaders.gap) ?? "") ?? [];
	return {
		offset: number(outputHeaders.offset),
		bytes,
		next,
		end,
		state,
		exit: exit === null ? null : (JSON.parse(exit) as ExitMessage),
		gap: reason === undefined ? null : { from: Number(from), to: Number(to), reason },
		isLast: (state === "closed" || state === "lost") && next >= end,
	};
}
