/** Input to a session over HTTP, in the order of the calls. Writes without a position use their own stream. */

import { limits } from "../../api/messages.ts";
import type { InputReceipt } from "../../api/types.ts";
import { Serial } from "../../async/serial.ts";
import { typedLines } from "../../words/typed-echo.ts";
import type { RequestOptions } from "../attach/attachment.ts";
import { newStreamId } from "../attach/outbox.ts";
import type { CallOptions, Transport } from "../http/transport.ts";
import { type StreamPosition, writeHeaders } from "../http/write-headers.ts";

/** Options of actions over HTTP. */
export type SessionActOptions = RequestOptions & {
	/** Fence of the lease that the caller holds. */
	readonly fence?: number;
};

/** Options for answering a prompt. */
export type AnswerOptions = SessionActOptions & {
	/**
	 * The `offset` of the program's prompt. Nothing is sent, and `not_waiting` is the error, unless the program still
	 * waits there.
	 */
	readonly ifWaiting?: number;
};

export type SecretOptions = AnswerOptions & {
	/** The `episode` of the prompt: distinguishes two identical prompts at the same `offset`. */
	readonly episode?: number;
};

export type WriteOptions = AnswerOptions & {
	/** Name of the input stream and position of the first byte in it; both or neither. */
	readonly stream?: string;
	readonly position?: number;
	/** Resolves when the program has the bytes, instead of when the server has them. */
	readonly untilWritten?: boolean;
};

type ActOperation = "pressKeys" | "resizeTerminal" | "signalProgram" | "endInput";
type ActCall<Name extends ActOperation> = Omit<CallOptions<Name>, "params" | "headers"> & SessionActOptions;

/** Input per request, below the server's limit. */
const PIECE_BYTES = limits.bodyBytes / 2;
/** After this much idle time our writes start a new stream, because the server may forget one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

export class SessionInput {
	readonly #transport: Transport;
	readonly #id: string;
	/** Position for writes without a stream. */
	#own: StreamPosition = { stream: newStreamId(), position: 0 };
	#lastWriteAt = 0;
	#typedAt = 0;
	#typedLines: readonly string[] = [];
	readonly #inOrder = new Serial();

	constructor(transport: Transport, id: string) {
		this.#transport = transport;
		this.#id = id;
	}

	/** Output offset before the newest input that the server accepted; 0 before any. */
	get typedAt(): number {
		return this.#typedAt;
	}

	/** The whole lines of that input, as far as they are known. */
	get typedLines(): readonly string[] {
		return this.#typedLines;
	}

	write(bytes: Uint8Array, options: WriteOptions): Promise<InputReceipt> {
		return this.#inOrder.run(() => this.#deliver(bytes, options));
	}

	act<Name extends ActOperation>(name: Name, options: ActCall<Name>): Promise<InputReceipt> {
		return this.#inOrder.run(() => this.actAtOnce(name, options));
	}

	/** Does not wait for earlier calls. */
	async actAtOnce<Name extends ActOperation>(name: Name, { fence, ...options }: ActCall<Name>): Promise<InputReceipt> {
		const call = { ...options, params: { id: this.#id }, headers: writeHeaders({ fence }) };
		return this.#accepted(await this.#transport.call(name, call as unknown as CallOptions<Name>));
	}

	#accepted(receipt: InputReceipt, typed: readonly string[] = []): InputReceipt {
		this.#typedAt = receipt.from ?? this.#typedAt;
		this.#typedLines = typed;
		return receipt;
	}

	async #deliver(bytes: Uint8Array, options: WriteOptions): Promise<InputReceipt> {
		if (options.stream !== undefined && options.position !== undefined) {
			return this.#send(bytes, { stream: options.stream, position: options.position }, options);
		}
		const isRested = performance.now() - this.#lastWriteAt > STREAM_REST_MS;
		const origin = isRested ? { stream: newStreamId(), position: 0 } : this.#own;
		// Until the request has succeeded, later ones must not rely on it: a failure starts a new stream.
		this.#own = { stream: newStreamId(), position: 0 };
		const receipt = await this.#send(bytes, origin, options);
		this.#own = { stream: origin.stream, position: receipt.next };
		this.#lastWriteAt = performance.now();
		return receipt;
	}

	async #send(bytes: Uint8Array, { stream, position }: StreamPosition, options: WriteOptions): Promise<InputReceipt> {
		let from = 0;
		for (;;) {
			const piece = bytes.slice(from, from + PIECE_BYTES);
			const receipt = await this.#transport.call("writeInput", {
				params: { id: this.#id },
				query: { wait: options.untilWritten ? "written" : undefined, ifWaiting: options.ifWaiting },
				headers: writeHeaders({ origin: { stream, position: position + from }, fence: options.fence }),
				body: piece,
				signal: options.signal,
			});
			from += piece.byteLength;
			// The program's response may start with the first chunk.
			if (from === piece.byteLength) this.#accepted(receipt, typedLines(new TextDecoder().decode(bytes)));
			if (from >= bytes.byteLength) return receipt;
		}
	}
}
