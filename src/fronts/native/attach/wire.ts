/** One WebSocket as the parts of a connection see it: accepts frames and messages until it is closed. */

import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import { encodeServerFrame, outputHead } from "../../../api/frames.ts";
import { type CloseCode, closeCodes, socketLimits } from "../../../api/socket.ts";
import type { ServerMessage } from "../../../api/types.ts";
import { closeReason, cutAfter } from "../../../http/websocket/liveness.ts";
import type { AttachedClient } from "../../../services/attachments/attachments.ts";
import type { SocketLimits } from "../limits.ts";

/** A type byte and an offset precede the bytes of output. */
const HEAD_BYTES = 9;
/** Smaller frames come from Node's pool. */
const SMALL_BYTES = 4 * 1024;
/** Buffers kept for reuse; enough for a few busy clients. */
const KEPT = 32;

export interface AttachWire extends AttachedClient {
	/** Bytes sent that the kernel has not accepted. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be sent. */
	readonly ended: AbortSignal;
	/** Sends a message, in order with the frames. */
	say(message: ServerMessage): void;
	/** Sends one binary frame. */
	send(frame: Uint8Array): void;
	/** Sends output as one frame; `taken` is called when the kernel has accepted it. */
	sendOutput(output: OutputPieces, taken: () => void): void;
	receipt(next: number, written: number): void;
	/** Closes the connection once, with a reason of at most 123 bytes. */
	close(code: CloseCode, reason: string): void;
}

/** Consecutive output of one side. */
export type OutputPieces = {
	readonly side: "stdout" | "stderr";
	readonly offset: number;
	readonly pieces: readonly Uint8Array[];
	/** Bytes of all pieces. */
	readonly length: number;
};

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

	sendOutput({ side, offset, pieces, length }: OutputPieces, taken: () => void): void {
		const { frame, release } = buffers.join([outputHead(side, offset), ...pieces], HEAD_BYTES + length);
		this.send(frame, () => {
			release();
			taken();
		});
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

/** Reusable memory for large frames: allocating 64 KiB for each would cost more than sending it. */
export class FrameBuffers {
	readonly #size: number;
	readonly #free: Buffer[] = [];

	constructor(size: number) {
		this.#size = size;
	}

	/** Joins parts to a frame. Call `release` once the frame is no longer read. */
	join(parts: readonly Uint8Array[], length: number): { readonly frame: Buffer; readonly release: () => void } {
		if (length <= SMALL_BYTES || length > this.#size) return { frame: Buffer.concat(parts, length), release: () => {} };
		const whole = this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
		let at = 0;
		for (const part of parts) {
			whole.set(part, at);
			at += part.byteLength;
		}
		const release = () => {
			if (this.#free.length < KEPT) this.#free.push(whole);
		};
		return { frame: whole.subarray(0, length), release };
	}
}

const buffers = new FrameBuffers(HEAD_BYTES + socketLimits.frameBytes);
