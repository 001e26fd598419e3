/** One WebSocket as the parts of a connection see it: a place to put frames and messages, until it is closed. */

import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import { encodeServerFrame } from "../../../protocol/frames.ts";
import { type CloseCode, closeCodes, type ServerMessage } from "../../../protocol/socket.ts";
import { cutAfter, shortened } from "../../liveness.ts";
import type { SocketLimits } from "./limits.ts";

export interface Wire {
	/** What we gave away and the kernel has not taken. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be said. */
	readonly ended: AbortSignal;
	/** Sends a message, in order with the frames. */
	say(message: ServerMessage): void;
	/** Sends one binary frame; `taken` is called when the kernel has it. */
	send(frame: Uint8Array, taken?: () => void): void;
	receipt(next: number, written: number): void;
	/** Ends the connection, once, and says why in at most 123 bytes. */
	close(code: CloseCode, reason: string): void;
}

export class WebSocketWire implements Wire {
	readonly #socket: WebSocket;
	readonly #limits: SocketLimits;
	readonly #ended = new AbortController();

	constructor(socket: WebSocket, limits: SocketLimits) {
		this.#socket = socket;
		this.#limits = limits;
		// All that is told over it listens to its end, so that many are no sign of a leak.
		setMaxListeners(0, this.#ended.signal);
		socket.once("close", () => this.#ended.abort());
	}

	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	get bufferedBytes(): number {
		return this.#socket.bufferedAmount;
	}

	say(message: ServerMessage): void {
		if (this.ended.aborted) return;
		this.#socket.send(JSON.stringify(message));
		this.#check();
	}

	send(frame: Uint8Array, taken?: () => void): void {
		if (this.ended.aborted) return;
		// A failed send is followed by the end of the connection, which says everything.
		this.#socket.send(frame, taken);
		this.#check();
	}

	receipt(next: number, written: number): void {
		this.send(encodeServerFrame({ kind: "receipt", next, written }));
	}

	close(code: CloseCode, reason: string): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#socket.close(code, shortened(reason));
		cutAfter(this.#socket, this.#limits.closeMs);
	}

	#check(): void {
		if (this.bufferedBytes > this.#limits.cutBytes) this.close(closeCodes.tooSlow, "too much waits for this client");
	}
}
