/**
 * One WebSocket as connections see it that send and wait: a place to put messages, until it is over.
 *
 * `ended` is aborted at the first sign of the end, whoever began it, so that nothing more is read or
 * written for it; the TCP connection follows within moments, whether the other side answers or not.
 */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { onAbort } from "./front.ts";
import { cutAfter, Liveness, shortened } from "./liveness.ts";
import { holdBack } from "./upgrade.ts";

export type WireTimes = {
	/** Between pings. */
	readonly pingMs: number;
	/** After a ping without anything, before the connection counts as dead. */
	readonly deadMs: number;
	/** Until the kernel must have taken a message. */
	readonly writeMs: number;
};

/** How long the closing handshake may take. */
const CLOSING_MS = 1_000;
/** A client that asks for answers and does not read them is given up at this many unsent bytes of those. */
const MAX_ANSWER_BYTES = 64 * 1024;

export class MessageWire {
	protected readonly socket: WebSocket;
	readonly #writeMs: number;
	readonly #ended = new AbortController();
	/** Lets it be read again, while it is not. */
	#release: (() => void) | undefined;
	/** Of answers that the kernel has not taken. */
	#answerBytes = 0;

	constructor(socket: WebSocket, { raw }: FastifyRequest, { pingMs, deadMs, writeMs }: WireTimes) {
		this.socket = socket;
		this.#writeMs = writeMs;
		// `ws` closes by the same method when a frame is bad and when the other side says good-bye.
		const close = socket.close.bind(socket);
		socket.close = (code, reason) => {
			if (!this.ended.aborted) this.closing(code);
			this.over(CLOSING_MS);
			close(code, reason);
		};
		socket.once("close", () => this.#ended.abort());
		new Liveness(socket, raw.socket, { pingMs, deadMs, signal: this.ended });
	}

	/** Aborted when nothing more can be said or heard. */
	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	/** Calls back with every message until the end. */
	onMessage(receive: (data: Buffer, isBinary: boolean) => void): void {
		this.socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (!this.ended.aborted) receive(data, isBinary);
		});
	}

	/** Closes when something else is over, such as the server or the caller's credential. */
	closeOn(signal: AbortSignal, code: number, reason: string): void {
		onAbort(signal, this.ended, () => this.close(code, reason));
	}

	/** Reads nothing more for now; what the other side sends waits on its way to us. */
	pause(): void {
		this.#release ??= holdBack(this.socket);
	}

	resume(): void {
		this.#release?.();
		this.#release = undefined;
	}

	/** Resolves when the kernel has taken the message, or the connection is over. One that stays behind too long ends it. */
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

	/** Says something that nobody waits for, however much the client makes us say. */
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
		if (!this.ended.aborted) this.socket.close(code, shortened(reason));
	}

	drop(): void {
		this.#ended.abort();
		this.socket.terminate();
	}

	/** Called before a close frame is sent, by whomever: the last moment to say something. */
	protected closing(_code: number | undefined): void {}

	protected over(patienceMs: number): void {
		this.#ended.abort();
		cutAfter(this.socket, patienceMs);
	}
}
