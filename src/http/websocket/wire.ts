/**
 * The sending and receiving side of one WebSocket.
 *
 * `ended` is aborted at the first sign of the end, on either side, so that no more is read or written. The TCP
 * connection closes soon after, whether the peer answers or not.
 */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { onAbort } from "../../core/async/abort.ts";
import { pauseUntilReleased } from "../upgrade.ts";
import { closeReason, cutAfter, Liveness } from "./liveness.ts";

export type WireTimes = {
	/** Interval between pings. */
	readonly pingMs: number;
	/** Time without any bytes after a ping before the peer counts as dead. */
	readonly deadMs: number;
	/** Time for the kernel to accept a message. */
	readonly writeMs: number;
};

/** How long the closing handshake may take. */
const CLOSING_MS = 1_000;
/**
 * A client with this many bytes of unread answers is disconnected.
 * @limit unread answers on a WebSocket of OpenSandbox or Multica | the connection is closed
 */
const MAX_ANSWER_BYTES = 64 * 1024;

export class WebSocketWire {
	protected readonly socket: WebSocket;
	readonly #writeMs: number;
	readonly #ended = new AbortController();
	/** Resumes reading; undefined while the socket is read. */
	#release: (() => void) | undefined;
	/** Bytes of answers that the kernel has not accepted. */
	#answerBytes = 0;

	constructor(socket: WebSocket, { raw }: FastifyRequest, { pingMs, deadMs, writeMs }: WireTimes) {
		this.socket = socket;
		this.#writeMs = writeMs;
		// `ws` calls this method too, for invalid frames and for the peer's close frame.
		const close = socket.close.bind(socket);
		socket.close = (code, reason) => {
			if (!this.ended.aborted) this.closing(code);
			this.over(CLOSING_MS);
			close(code, reason);
		};
		socket.once("close", () => this.#ended.abort());
		new Liveness(socket, raw.socket, { pingMs, deadMs, signal: this.ended });
	}

	/** Aborted when nothing more can be sent or received. */
	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	/** Calls `receive` for every message until the end. */
	onMessage(receive: (data: Buffer, isBinary: boolean) => void): void {
		this.socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (!this.ended.aborted) receive(data, isBinary);
		});
	}

	/** Closes when `signal` aborts, such as when the server closes or the credential is revoked. */
	closeOn(signal: AbortSignal, code: number, reason: string): void {
		onAbort(signal, this.ended, () => this.close(code, reason));
	}

	/** Stops reading for now. The peer's data waits in the network. */
	pause(): void {
		this.#release ??= pauseUntilReleased(this.socket);
	}

	resume(): void {
		this.#release?.();
		this.#release = undefined;
	}

	/**
	 * Resolves when the kernel has accepted the message or the connection has ended. A message that takes too long ends
	 * the connection.
	 */
	send(message: Uint8Array | string): Promise<void> {
		if (this.ended.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			const timer = setTimeout(() => this.drop(), this.#writeMs);
			this.socket.send(message, () => {
				clearTimeout(timer);
				resolve();
			});
		});
	}

	/** Sends an answer without waiting. A client that does not read its answers is disconnected. */
	reply(text: string): void {
		if (this.ended.aborted) return;
		this.#answerBytes += text.length;
		if (this.#answerBytes > MAX_ANSWER_BYTES) {
			this.drop();
			return;
		}
		this.socket.send(text, () => {
			this.#answerBytes -= text.length;
		});
	}

	close(code: number, reason: string): void {
		if (!this.ended.aborted) this.socket.close(code, closeReason(reason));
	}

	drop(): void {
		this.#ended.abort();
		this.socket.terminate();
	}

	/** Called before a close frame is sent by either side: the last chance to send. */
	protected closing(_code: number | undefined): void {}

	protected over(timeoutMs: number): void {
		this.#ended.abort();
		cutAfter(this.socket, timeoutMs);
	}
}
