/** What carries a connection's messages: a place to put them, until it ends; and a WebSocket as such. */

import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { Change } from "../../core/change.ts";
import type { Backlog } from "../backlog.ts";
import { cutAfter, Liveness } from "../liveness.ts";
import type { LoopShare } from "../loop-share.ts";
import { holdBack } from "../upgrade.ts";

export interface Wire {
	/** What we gave away and the kernel has not taken. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be said. */
	readonly ended: AbortSignal;
	/** Happens whenever the kernel has taken a message, whoever sent it. */
	readonly taken: Change;
	send(text: string): void;
	/** So many bytes more are kept of what came, or of answers that wait; fewer, if negative. */
	keep(bytes: number): void;
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
/** Of a message that is not whole, what is read before others are: about as much as Node reads at once. */
const PART_BYTES = 64 * 1024;
/** What may be kept of whole messages while more of a large one is read. */
const KEPT_BYTES = 8 * 1024 * 1024;

export type WebSocketWireLimits = {
	readonly pingMs: number;
	/** How long a connection may keep silent when it is probed. */
	readonly probeMs: number;
};

type WebSocketWireOptions = {
	readonly socket: WebSocket;
	/** What is below the socket. */
	readonly connection: Duplex;
	readonly limits: WebSocketWireLimits;
	/** What all such connections keep. */
	readonly backlog: Backlog;
	/** When each of them has its turn. */
	readonly share: LoopShare;
};

/** One message in each of the socket's messages. */
export class WebSocketWire implements Wire {
	readonly taken: Change = new Change();
	readonly #happen = () => this.taken.happen();
	readonly #socket: WebSocket;
	readonly #limits: WebSocketWireLimits;
	readonly #backlog: Backlog;
	readonly #share: LoopShare;
	readonly #ended = new AbortController();
	readonly #liveness: Liveness;
	/** Lets it be read again, while it is not. */
	#release: (() => void) | undefined;
	/** Of a message that is not whole yet. */
	#partBytes = 0;
	/** Of those that are, until they are dealt with. */
	#keptBytes = 0;
	/** Lets more of a large message be read, while it is not. */
	#readOn: (() => void) | undefined;

	constructor({ socket, connection, limits, backlog, share }: WebSocketWireOptions) {
		this.#socket = socket;
		this.#limits = limits;
		this.#backlog = backlog;
		this.#share = share;
		// Every request that waits listens to it, so that many are no sign of a leak.
		setMaxListeners(0, this.#ended.signal);
		this.#liveness = new Liveness(socket, connection, { pingMs: limits.pingMs, signal: this.ended });
		socket.once("close", () => this.#ended.abort());
		connection.on("data", (bytes: Buffer) => {
			this.#noteParts(this.#partBytes + bytes.byteLength);
			if (this.#partBytes <= PART_BYTES) return;
			// Node would read megabytes from each before it looks at anything else.
			this.#readOn ??= holdBack(socket);
			setImmediate(() => this.#maybeReadOn());
		});
		this.ended.addEventListener("abort", () => backlog.note(this, 0), { once: true });
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
			// What came behind it in the same piece is little.
			this.#noteParts(0);
			if (what === "all" || !isBinary) this.#inTurn(data.byteLength, () => receiver.receive(data));
		});
	}

	send(text: string): void {
		if (this.ended.aborted) return;
		// A failed send is followed by the end of the connection, which says everything.
		this.#socket.send(text, this.#happen);
		this.keep(0);
	}

	keep(bytes: number): void {
		this.#keptBytes += bytes;
		if (bytes < 0) this.#maybeReadOn();
		if (!this.ended.aborted) this.#backlog.note(this, this.#partBytes + this.#keptBytes + this.bufferedBytes);
	}

	/** Ends the connection without a word: there is too much waiting for it already. */
	cut(): void {
		this.#ended.abort();
		this.#socket.terminate();
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

	/** Nothing more is read from it while it waits for its turn. */
	#inTurn(bytes: number, act: () => void): void {
		let isWaiting = true;
		let release = () => {};
		this.keep(bytes);
		this.#share.take(this, bytes, () => {
			isWaiting = false;
			release();
			this.keep(-bytes);
			act();
		});
		if (isWaiting) release = holdBack(this.#socket);
	}

	/** While much of its connection is in memory, a large message waits on its way; a small one comes in one piece. */
	#maybeReadOn(): void {
		if (this.#keptBytes > KEPT_BYTES) return;
		this.#readOn?.();
		this.#readOn = undefined;
	}

	#noteParts(bytes: number): void {
		this.#partBytes = bytes;
		this.keep(0);
	}
}
