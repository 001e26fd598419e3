/** The connection of one JSON-RPC client, and its implementation over a WebSocket. */

import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { Change } from "../../core/async/change.ts";
import type { Backlog } from "../../http/limits/backlog.ts";
import type { FairScheduler } from "../../http/limits/fair-share.ts";
import { pauseUntilReleased } from "../../http/upgrade.ts";
import { cutAfter, Liveness } from "../../http/websocket/liveness.ts";

export interface RpcWire {
	/** Bytes sent that the kernel has not accepted. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be sent. */
	readonly ended: AbortSignal;
	/** Fired whenever the kernel has accepted a message. */
	readonly taken: Change;
	send(text: string): void;
	/** Counts `bytes` more of kept requests or waiting answers; fewer, if negative. */
	keep(bytes: number): void;
	/** Stops reading until `resume`. */
	pause(): void;
	resume(): void;
	/** Closes the connection unless the peer shows soon that it is alive. */
	probe(): void;
	close(): void;
}

/** Receives the messages of a connection. */
export type Receiver = {
	/** One message, as it arrived. */
	receive(bytes: Uint8Array): void;
};

/** Time for the closing handshake before the connection is cut. */
const CLOSE_MS = 1_000;
const GOING_AWAY = 1001;
/**
 * Bytes of an incomplete message read before other connections get a turn: about one read of Node.
 * @limit an incomplete message of a Codex connection, in one turn | the rest waits
 */
const PART_BYTES = 64 * 1024;
/**
 * Bytes of complete messages that may be kept while more of a large one is read.
 * @limit unanswered messages of a Codex connection | no more is read of an incomplete one
 */
const KEPT_BYTES = 8 * 1024 * 1024;

export type WebSocketWireLimits = {
	readonly pingMs: number;
	/** Time for the peer to react when it is probed. */
	readonly probeMs: number;
};

type WebSocketWireOptions = {
	readonly socket: WebSocket;
	/** The stream below the socket. */
	readonly connection: Duplex;
	readonly limits: WebSocketWireLimits;
	/** Limits the messages of all connections together. */
	readonly backlog: Backlog;
	/** Decides which connection is served next. */
	readonly share: FairScheduler;
};

/** A wire over a WebSocket: one JSON-RPC message per WebSocket message. */
export class RpcWebSocketWire implements RpcWire {
	readonly taken: Change = new Change();
	readonly #happen = () => this.taken.happen();
	readonly #socket: WebSocket;
	readonly #limits: WebSocketWireLimits;
	readonly #backlog: Backlog;
	readonly #share: FairScheduler;
	readonly #ended = new AbortController();
	readonly #liveness: Liveness;
	/** Resumes reading; undefined while the socket is read. */
	#release: (() => void) | undefined;
	/** Bytes of the incomplete message. */
	#partBytes = 0;
	/** Bytes of complete messages that are not processed yet. */
	#keptBytes = 0;
	/** Continues reading a large message; undefined while it is read. */
	#readOn: (() => void) | undefined;

	constructor({ socket, connection, limits, backlog, share }: WebSocketWireOptions) {
		this.#socket = socket;
		this.#limits = limits;
		this.#backlog = backlog;
		this.#share = share;
		// Each pending request adds a listener: many are not a leak.
		setMaxListeners(0, this.#ended.signal);
		this.#liveness = new Liveness(socket, connection, { pingMs: limits.pingMs, signal: this.ended });
		socket.once("close", () => this.#ended.abort());
		connection.on("data", (bytes: Buffer) => {
			this.#noteParts(this.#partBytes + bytes.byteLength);
			if (this.#partBytes <= PART_BYTES) return;
			// Without this, Node would read megabytes of each connection before it serves another.
			this.#readOn ??= pauseUntilReleased(socket);
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

	/** Passes messages to the receiver: all, or only text. */
	deliver(receiver: Receiver, what: "all" | "text" = "all"): void {
		this.#socket.on("message", (data: Buffer, isBinary) => {
			// The bytes behind this message in the same chunk are few, so they are not counted.
			this.#noteParts(0);
			if (what === "all" || !isBinary) this.#inTurn(data.byteLength, () => receiver.receive(data));
		});
	}

	send(text: string): void {
		if (this.ended.aborted) return;
		// A failed send is followed by the end of the connection.
		this.#socket.send(text, this.#happen);
		this.keep(0);
	}

	keep(bytes: number): void {
		this.#keptBytes += bytes;
		if (bytes < 0) this.#maybeReadOn();
		if (!this.ended.aborted) this.#backlog.note(this, this.#partBytes + this.#keptBytes + this.bufferedBytes);
	}

	/** Closes the connection without a close frame: too much is queued for it already. */
	cut(): void {
		this.#ended.abort();
		this.#socket.terminate();
	}

	pause(): void {
		this.#release ??= pauseUntilReleased(this.#socket);
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

	/** Runs `act` in the connection's turn, and pauses reading until then. */
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
		if (isWaiting) release = pauseUntilReleased(this.#socket);
	}

	/** Reads more of a large message unless too many complete messages of the connection are in memory. */
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
