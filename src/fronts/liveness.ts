/** Whether the other side of a WebSocket is still there, and how one is ended without waiting for it. */

import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** How soon the kernel asks after a peer that is silent. */
const KEEP_ALIVE_MS = 15_000;
/** A close frame carries no more of a reason (RFC 6455 §5.5). */
const REASON_BYTES = 123;
/** A timer that is this late says that we were asleep, not the other side. */
const LAG_MS = 2_000;

type LivenessOptions = {
	readonly pingMs: number;
	/** How long nothing at all may arrive after a ping; without it nobody is given up for being silent. */
	readonly deadMs?: number;
	/** Ends the watch. */
	readonly signal: AbortSignal;
	readonly now?: () => number;
};

export class Liveness {
	readonly #socket: Pick<WebSocket, "ping" | "terminate" | "isPaused">;
	readonly #now: () => number;
	/** Grows with every byte that arrives, whatever it belongs to. */
	#received = 0;
	#verdict: NodeJS.Timeout | undefined;

	/** Pings now and then, for as long as the signal lets it. `connection` is what carries the socket. */
	constructor(
		socket: Pick<WebSocket, "ping" | "terminate" | "isPaused">,
		connection: Duplex,
		{ pingMs, deadMs, signal, now = () => performance.now() }: LivenessOptions,
	) {
		this.#socket = socket;
		this.#now = now;
		if (signal.aborted) return;
		if (connection instanceof Socket) connection.setKeepAlive(true, KEEP_ALIVE_MS);
		connection.on("data", (bytes: Buffer) => {
			this.#received += bytes.byteLength;
		});
		const pinging = setInterval(() => (deadMs === undefined ? socket.ping() : this.probe(deadMs)), pingMs);
		signal.addEventListener(
			"abort",
			() => {
				clearInterval(pinging);
				clearTimeout(this.#verdict);
			},
			{ once: true },
		);
	}

	/** Pings, and ends the connection if nothing arrives within this time. */
	probe(withinMs: number): void {
		this.#socket.ping();
		if (this.#verdict) return;
		const before = this.#received;
		const due = this.#now() + withinMs;
		this.#verdict = setTimeout(() => {
			// There is no verdict while we do not listen, nor when our own timer was late: the bytes may be where we did not look.
			const mayHaveMissed = this.#socket.isPaused || this.#now() - due > LAG_MS;
			// What has come by now is read before this.
			setImmediate(() => {
				this.#verdict = undefined;
				if (this.#received === before && !mayHaveMissed) this.#socket.terminate();
			});
		}, withinMs);
	}
}

/** Cuts a connection that is closing, unless the closing handshake ends it in time: the other side may never answer. */
export function cutAfter(socket: WebSocket, ms: number): void {
	const timer = setTimeout(() => socket.terminate(), ms);
	socket.once("close", () => clearTimeout(timer));
}

/** As much of a reason as a close frame carries. */
export function shortened(reason: string): string {
	const bytes = Buffer.from(reason);
	// Cut at a whole character: the reason must be valid UTF-8.
	return bytes.length <= REASON_BYTES
		? reason
		: new TextDecoder().decode(bytes.subarray(0, REASON_BYTES - 3), { stream: true });
}
