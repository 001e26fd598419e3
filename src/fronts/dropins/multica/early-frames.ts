/** Queues the client's frames until a terminal can receive them. */

import { type ClientFrame, decodeFrame } from "./messages.ts";
import type { Wire } from "./wire.ts";

/**
 * Frames queued before reading from the client pauses.
 * @limit frames of a client before its terminal is open | no more is read
 */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Overhead per frame, so that many empty ones count. */
const FRAME_BYTES = 64;

type Frame = ClientFrame | undefined;

export class Inbox {
	readonly #wire: Wire;
	readonly #waiting: Frame[] = [];
	#waitingBytes = 0;
	#receive: ((frame: ClientFrame) => void) | undefined;
	#wake: () => void = () => {};

	constructor(wire: Wire) {
		this.#wire = wire;
		wire.onMessage((data) => this.#add(decodeFrame(data), data.byteLength));
	}

	/** The first frame; undefined if its type is unknown. */
	async first(): Promise<Frame> {
		if (this.#waiting.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
		return this.#waiting.shift();
	}

	/** Passes queued and future frames to `receive`. */
	deliver(receive: (frame: ClientFrame) => void): void {
		this.#receive = receive;
		for (const frame of this.#waiting.splice(0)) if (frame) receive(frame);
		this.#wire.resume();
	}

	#add(frame: Frame, bytes: number): void {
		if (this.#receive) {
			if (frame) this.#receive(frame);
			return;
		}
		this.#waiting.push(frame);
		this.#waitingBytes += bytes + FRAME_BYTES;
		if (this.#waitingBytes > MAX_WAITING_BYTES) this.#wire.pause();
		this.#wake();
	}
}
