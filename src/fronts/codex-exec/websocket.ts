/** A WebSocket as the wire of a connection: one message in each of its messages. */

import { setMaxListeners } from "node:events";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Connection } from "./connection.ts";
import type { ExecLimits } from "./limits.ts";
import type { Wire } from "./rpc/wire.ts";

/** How soon the kernel asks after a peer that is silent. */
const KEEP_ALIVE_MS = 15_000;
/** How long the closing handshake may take before the connection is cut. */
const CLOSE_MS = 1_000;
const GOING_AWAY = 1001;

export class WebSocketWire implements Wire {
	readonly #socket: WebSocket;
	readonly #limits: ExecLimits;
	readonly #ended = new AbortController();
	#probing: NodeJS.Timeout | undefined;

	constructor(socket: WebSocket, limits: ExecLimits) {
		this.#socket = socket;
		this.#limits = limits;
		// Every request that waits listens to it, so that many are no sign of a leak.
		setMaxListeners(0, this.#ended.signal);
		const pinging = setInterval(() => socket.ping(), limits.pingMs).unref();
		for (const sign of ["message", "pong", "close"]) socket.on(sign, () => this.#isThere());
		socket.once("close", () => {
			clearInterval(pinging);
			this.#ended.abort();
		});
	}

	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	get bufferedBytes(): number {
		return this.#socket.bufferedAmount;
	}

	send(text: string, taken?: () => void): void {
		if (this.ended.aborted) return;
		// A failed send is followed by the end of the connection, which says everything.
		this.#socket.send(text, taken);
	}

	pause(): void {
		this.#socket.pause();
	}

	resume(): void {
		this.#socket.resume();
	}

	probe(): void {
		// While we do not listen, nobody can show us anything.
		if (this.#probing || this.#socket.isPaused) return;
		this.#socket.ping();
		this.#probing = setTimeout(() => this.#socket.terminate(), this.#limits.probeMs);
	}

	close(): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#socket.close(GOING_AWAY);
		const timer = setTimeout(() => this.#socket.terminate(), CLOSE_MS);
		this.#socket.once("close", () => clearTimeout(timer));
	}

	#isThere(): void {
		clearTimeout(this.#probing);
		this.#probing = undefined;
	}
}

/** Gives the connection what comes, whether it is called text or bytes. */
export function receiveFrom(socket: WebSocket, tcp: Socket, connection: Connection): void {
	tcp.setKeepAlive(true, KEEP_ALIVE_MS);
	socket.on("message", (data: Buffer) => connection.receive(data));
}
