/** What is done to a session over HTTP, in the order of the calls; what is written without a place has a stream of its own. */

import type { InputReceipt } from "../protocol/acts.ts";
import { fenceHeader, idempotencyKeyHeader, limits } from "../protocol/messages.ts";
import { sessionPath } from "./address.ts";
import type { ActOptions } from "./attachment.ts";
import { newStreamId } from "./outbox.ts";
import type { Transport } from "./transport.ts";

/** For what is done to a session over HTTP. */
export type SessionActOptions = ActOptions & {
	/** Of the lease that we have, while nobody else may write. */
	readonly fence?: number;
};

/** For what may be the answer to a question. */
export type AnswerOptions = SessionActOptions & {
	/**
	 * The `offset` of what the program waits for: it is typed only if it still waits there, whole or not at all;
	 * `not_waiting` if it does not.
	 */
	readonly ifWaiting?: number;
};

export type SecretOptions = AnswerOptions & {
	/** The `episode` of the question: not even one that the same program asks at the same `offset`, having written nothing, gets it. */
	readonly episode?: number;
};

export type WriteOptions = AnswerOptions & {
	/** The name of the input stream, and the position of the first byte in it; both or neither. */
	readonly stream?: string;
	readonly position?: number;
	/** Resolves when the program's side took the bytes, rather than when the server has them. */
	readonly untilWritten?: boolean;
};

type PostOptions = SessionActOptions & { readonly query?: Readonly<Record<string, number | undefined>> };

type Origin = { readonly stream: string; readonly position: number };

/** How much input goes into one request: less than a server's limit. */
const PIECE_BYTES = limits.bodyBytes / 2;
/** After a rest as long as this our writes begin a new stream: the server may forget an old one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

export class SessionInput {
	readonly #transport: Transport;
	readonly #path: string;
	/** Where our own writes go that name no stream. */
	#own: Origin = { stream: newStreamId(), position: 0 };
	#lastWriteAt = 0;
	#lastWrite: Promise<unknown> = Promise.resolve();

	constructor(transport: Transport, id: string) {
		this.#transport = transport;
		this.#path = sessionPath(id);
	}

	write(bytes: Uint8Array, options: WriteOptions): Promise<InputReceipt> {
		return this.#inOrder(() => this.#deliver(bytes, options));
	}

	act(path: string, json: unknown, options: PostOptions): Promise<InputReceipt> {
		return this.#inOrder(() => this.actAtOnce(path, json, options));
	}

	/** Past what waits for its turn. */
	async actAtOnce(path: string, json: unknown, { signal, fence, query = {} }: PostOptions): Promise<InputReceipt> {
		const call = { path: `${this.#path}${path}`, json, query, headers: fenceOf(fence), signal };
		const response = await this.#transport.request({ method: "POST", ...call });
		return (await response.json()) as InputReceipt;
	}

	/** Does it after everything asked for before, whatever became of that. */
	#inOrder<T>(work: () => Promise<T>): Promise<T> {
		const done = this.#lastWrite.then(work);
		this.#lastWrite = done.catch(() => undefined);
		return done;
	}

	async #deliver(bytes: Uint8Array, options: WriteOptions): Promise<InputReceipt> {
		if (options.stream !== undefined && options.position !== undefined) {
			return this.#send(bytes, { stream: options.stream, position: options.position }, options);
		}
		const isRested = performance.now() - this.#lastWriteAt > STREAM_REST_MS;
		const origin = isRested ? { stream: newStreamId(), position: 0 } : this.#own;
		// Until it is known to have arrived, what follows must not count on it: a failure starts a new stream.
		this.#own = { stream: newStreamId(), position: 0 };
		const receipt = await this.#send(bytes, origin, options);
		this.#own = { stream: origin.stream, position: receipt.next };
		this.#lastWriteAt = performance.now();
		return receipt;
	}

	async #send(bytes: Uint8Array, { stream, position }: Origin, options: WriteOptions): Promise<InputReceipt> {
		let from = 0;
		for (;;) {
			const piece = bytes.slice(from, from + PIECE_BYTES);
			const response = await this.#transport.request({
				method: "POST",
				path: `${this.#path}/input`,
				query: { wait: options.untilWritten ? "written" : undefined, ifWaiting: options.ifWaiting },
				headers: { [idempotencyKeyHeader]: `${stream}:${position + from}`, ...fenceOf(options.fence) },
				bytes: piece,
				signal: options.signal,
			});
			from += piece.byteLength;
			if (from >= bytes.byteLength) return (await response.json()) as InputReceipt;
			await response.body?.cancel();
		}
	}
}

export function fenceOf(fence: number | undefined): Record<string, string> {
	return fence === undefined ? {} : { [fenceHeader]: String(fence) };
}
