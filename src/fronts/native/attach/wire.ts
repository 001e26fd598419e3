/** One WebSocket as the parts of a connection see it: accepts frames and messages until it is closed. */

import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import { encodeServerFrame } from "../../../api/frames.ts";
import { type CloseCode, closeCodes } from "../../../api/socket.ts";
import type { ServerMessage } from "../../../api/types.ts";
import { closeReason, cutAfter } from "../../../http/websocket/liveness.ts";
import type { AttachedClient } from "../../../services/attachments/attachments.ts";
import type { SocketLimits } from "../limits.ts";

export interface AttachWire extends AttachedClient {
	/** Bytes sent that the kernel has not accepted. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be sent. */
	readonly ended: AbortSignal;
	/** Sends a message, in order with the frames. */
	say(message: ServerMessage): void;
	/** Sends one binary frame; `taken` is called when the kernel has accepted it. */
	send(frame: Uint8Array, taken?: () => void): void;
	receipt(next: number, written: number): void;
	/** Closes the connection once, with a reason of at most 123 bytes. */
	close(code: CloseCode, reason: string): void;
}

export class WebSocketWire implements AttachWire {
	readonly #socket: WebSocket;
	readonly #limits: SocketLimits;
	readonly #ended = new AbortController();

	constructor(socket: WebSocket, limits: SocketLimits) {
		this.#socket = socket;
		this.#limits = limits;
		// Each part of a connection adds a listener: many are not a leak.
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
		// A failed send is followed by the end of the connection.
		this.#socket.send(frame, taken);
		this.#check();
	}

	receipt(next: number, written: number): void {
		this.send(encodeServerFrame({ kind: "receipt", next, written }));
	}

	detach(reason: string): void {
		this.close(closeCodes.detached, reason);
	}

	close(code: CloseCode, reason: string): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#socket.close(code, closeReason(reason));
		cutAfter(this.#socket, this.#limits.closeMs);
	}

	#check(): void {
		if (this.bufferedBytes > this.#limits.cutBytes)
			this.close(closeCodes.tooSlow, "too many unsent bytes for this client");
	}
}
