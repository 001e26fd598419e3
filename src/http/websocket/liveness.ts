/** Detects dead WebSocket peers, and closes connections without waiting for the peer. */

import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** TCP keep-alive: idle time before the kernel probes the peer. */
const KEEP_ALIVE_MS = 15_000;
/** The most that a close frame carries (RFC 6455 §5.5). */
const REASON_BYTES = 123;
/** A timer this late means that our own process was suspended or busy. */
const LAG_MS = 2_000;

type LivenessOptions = {
	readonly pingMs: number;
	/** Time without any bytes after a ping before the peer counts as dead. Omitted: never. */
	readonly deadMs?: number;
	/** Stops the pings. */
	readonly signal: AbortSignal;
	readonly now?: () => number;
};

export class Liveness {
	readonly #socket: Pick<WebSocket, "ping" | "terminate" | "isPaused">;
	readonly #now: () => number;
	/** Bytes received, in any frame. */
	#received = 0;
	#verdict: NodeJS.Timeout | undefined;

	/** Pings every `pingMs` until the signal aborts. `connection` is the stream below the socket. */
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

	/** Pings, and closes the connection if no bytes arrive within `withinMs`. */
	probe(withinMs: number): void {
		this.#socket.ping();
		if (this.#verdict) return;
		const before = this.#received;
		const due = this.#now() + withinMs;
		this.#verdict = setTimeout(() => {
			// Bytes may have arrived unread while the socket was paused or our timer was late.
			const mayHaveMissed = this.#socket.isPaused || this.#now() - due > LAG_MS;
			// The bytes that have arrived are read before this runs.
			setImmediate(() => {
				this.#verdict = undefined;
				if (this.#received === before && !mayHaveMissed) this.#socket.terminate();
			});
		}, withinMs);
	}
}

/** Cuts a closing connection unless the peer completes the closing handshake in time. */
export function cutAfter(socket: WebSocket, ms: number): void {
	const timer = setTimeout(() => socket.terminate(), ms);
	socket.once("close", () => clearTimeout(timer));
}

/** Shortens a reason to what a close frame carries. */
export function closeReason(reason: string): string {
	const bytes = Buffer.from(reason);
	// Cut at a character boundary: the reason must be valid UTF-8.
	return bytes.length <= REASON_BYTES
		? reason
		: new TextDecoder().decode(bytes.subarray(0, REASON_BYTES - 3), { stream: true });
}
