/**
 * One WebSocket as the front's connections see it: a place to put messages, until it is over.
 *
 * `ended` is aborted at the first sign of the end, whoever began it, so that nothing more is read or
 * written for it; the TCP connection follows within moments, whether the other side answers or not.
 */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { SessionError } from "../../../core/errors.ts";
import { onAbort } from "../../front.ts";
import { cutAfter, Liveness } from "../../liveness.ts";
import { holdBack } from "../../upgrade.ts";
import type { Times } from "../times.ts";
import type { ServerMessage } from "./frames.ts";

export const closeCodes = {
	done: 1000,
	goingAway: 1001,
	refused: 1008,
	failed: 1011,
	takenOver: 4001,
} as const;

/** How long the closing handshake may take, and that of a holder who is in somebody's way. */
const CLOSING_MS = 1_000;
const EVICTION_MS = 200;
/** A client that asks for answers and does not read them is given up at this many unsent bytes of those. */
const MAX_ANSWER_BYTES = 64 * 1024;

type WireTimes = Pick<Times, "pingMs" | "deadMs" | "writeMs">;

export class Wire {
	readonly #socket: WebSocket;
	readonly #writeMs: number;
	readonly #ended = new AbortController();
	readonly #hangUp: () => void;
	/** Lets it be read again, while it is not. */
	#release: (() => void) | undefined;
	/** Of answers that the kernel has not taken. */
	#answerBytes = 0;

	constructor(socket: WebSocket, request: FastifyRequest, options: { times: WireTimes; closing: AbortSignal }) {
		this.#socket = socket;
		this.#writeMs = options.times.writeMs;
		const tcp = request.raw.socket;
		this.#hangUp = () => tcp.end();
		// `ws` closes by the same method when a frame is bad and when the other side says good-bye.
		const close = socket.close.bind(socket);
		socket.close = (code, reason) => {
			this.#over(CLOSING_MS);
			close(code, reason);
		};
		socket.once("close", () => this.#ended.abort());
		const { pingMs, deadMs } = options.times;
		new Liveness(socket, tcp, { pingMs, deadMs, signal: this.ended });
		const goAway = (signal: AbortSignal, reason: string) =>
			onAbort(signal, this.ended, () => this.close(closeCodes.goingAway, reason));
		goAway(options.closing, "the server is shutting down");
		if (request.principal) goAway(request.principal.revoked, "the token is not valid any more");
	}

	/** Aborted when nothing more can be said or heard. */
	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	/** Calls back with every message until the end. */
	onMessage(receive: (data: Buffer, isBinary: boolean) => void): void {
		this.#socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (!this.ended.aborted) receive(data, isBinary);
		});
	}

	/** Reads nothing more for now; what the other side sends waits on its way to us. */
	pause(): void {
		this.#release ??= holdBack(this.#socket);
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
			this.#socket.send(message, () => {
				clearTimeout(timer);
				resolve();
			});
		});
	}

	say(message: ServerMessage): Promise<void> {
		return this.send(`${JSON.stringify(message)}\n`);
	}

	/** Says something that nobody waits for, however much the client makes us say. */
	answer(message: ServerMessage): void {
		if (this.ended.aborted) return;
		const text = `${JSON.stringify(message)}\n`;
		this.#answerBytes += text.length;
		if (this.#answerBytes > MAX_ANSWER_BYTES) {
			this.drop();
			return;
		}
		this.#socket.send(text, () => {
			this.#answerBytes -= text.length;
		});
	}

	close(code: number, reason: string): void {
		if (!this.ended.aborted) this.#socket.close(code, reason);
	}

	/** Makes room for another holder: with a word if that can be said at once, and never behind a message that is stuck. */
	evict(): void {
		if (this.ended.aborted || this.#socket.bufferedAmount > 0) {
			this.drop();
			return;
		}
		this.close(closeCodes.takenOver, "TAKEN_OVER");
		this.#over(EVICTION_MS);
	}

	/** Ends the connection after what was said, without a close frame. */
	hangUp(): void {
		if (this.ended.aborted) return;
		this.#over(CLOSING_MS);
		this.#hangUp();
	}

	drop(): void {
		this.#ended.abort();
		this.#socket.terminate();
	}

	#over(patienceMs: number): void {
		this.#ended.abort();
		cutAfter(this.#socket, patienceMs);
	}
}

/** The last that a client hears, once it has all output. */
export async function sayExit(wire: Wire, code: number): Promise<void> {
	await wire.say({ type: "exit", exit_code: code });
	wire.close(closeCodes.done, "process exited");
}

/** Says why no program could be started, and leaves without a close frame. */
export async function sayStartFailed(wire: Wire, thrown: unknown, report: (problem: unknown) => void): Promise<void> {
	const error = SessionError.from(thrown);
	if (error.code === "internal") report(thrown);
	await wire.say({ type: "error", code: "START_FAILED", error: error.message });
	wire.hangUp();
}
