/** What carries a connection's messages: a place to put them, until it ends; and a WebSocket as such. */

import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { Change } from "../../core/change.ts";
import { cutAfter, Liveness } from "../liveness.ts";
import { holdBack } from "../upgrade.ts";

export interface Wire {
	/** What we gave away and the kernel has not taken. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be said. */
	readonly ended: AbortSignal;
	/** Happens whenever the kernel has taken a message, whoever sent it. */
	readonly taken: Change;
	send(text: string): void;
	/** Stops and goes on receiving. */
	pause(): void;
	resume(): void;
	/** Ends the connection unless the other side shows soon that it is there. */
	probe(): void;
	close(): void;
}

/** Whoever is at our end of a wire. */
export type Receiver = {
	/** One message, as it came. */
	receive(bytes: Uint8Array): void;
};

/** How long the closing handshake may take before the connection is cut. */
const CLOSE_MS = 1_000;
const GOING_AWAY = 1001;

export type WebSocketWireLimits = {
	readonly pingMs: number;
	/** How long a connection may keep silent when it is probed. */
	readonly probeMs: number;
};

/** One message in each of the socket's messages. */
export class WebSocketWire implements Wire {
	readonly taken: Change = new Change();
	readonly #happen = () => this.taken.happen();
	readonly #socket: WebSocket;
	readonly #limits: WebSocketWireLimits;
	readonly #ended = new AbortController();
	readonly #liveness: Liveness;
	/** Lets it be read again, while it is not. */
	#release: (() => void) | undefined;

	constructor(socket: WebSocket, connection: Duplex, limits: WebSocketWireLimits) {
		this.#socket = socket;
		this.#limits = limits;
		// Every request that waits listens to it, so that many are no sign of a leak.
		setMaxListeners(0, this.#ended.signal);
		this.#liveness = new Liveness(socket, connection, { pingMs: limits.pingMs, signal: this.ended });
		socket.once("close", () => this.#ended.abort());
	}

	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	get bufferedBytes(): number {
		return this.#socket.bufferedAmount;
	}

	/** Gives what comes to the receiver: all of it, or only what is called text. */
	deliver(receiver: Receiver, what: "all" | "text" = "all"): void {
		this.#socket.on("message", (data: Buffer, isBinary) => {
			if (what === "all" || !isBinary) receiver.receive(data);
		});
	}

	send(text: string): void {
		if (this.ended.aborted) return;
		// A failed send is followed by the end of the connection, which says everything.
		this.#socket.send(text, this.#happen);
	}

	pause(): void {
		this.#release ??= holdBack(this.#socket);
	}

	resume(): void {
		this.#release?.();
		this.#release = undefined;
	}

	probe(): void {
		this.#liveness.probe(this.#limits.probeMs);
	}

	close(): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#socket.close(GOING_AWAY);
		cutAfter(this.#socket, CLOSE_MS);
	}
}
