/**
 * Keeps a program from running far ahead of a reader. It is used for a stream that many live readers share: without it
 * the program would take the CPU time of the server that serves them, and most of its output would be skipped.
 *
 * The program never waits long: a reader that makes no progress is ignored until it has caught up.
 */

import type { Clock } from "../async/clock.ts";

/**
 * How far the program may be ahead. Plus one chunk, it is less than a live reader may be behind.
 * @limit a program ahead of the stream that its viewers share | it waits
 */
const AHEAD_BYTES = 256 * 1024;
/**
 * The longest wait of the program without progress of the reader.
 * @limit that wait, without progress of the stream | the stream skips ahead, over a gap
 */
const TIMEOUT_MS = 250;

export class Pace {
	readonly #clock: Clock;
	readonly #onChange: () => void;
	#offset: number;
	#isIgnored = false;
	#cancelTimeout: (() => void) | undefined;

	/** The reader is at `offset`. `onChange` is called when `mustWait` may have changed. */
	constructor(clock: Clock, offset: number, onChange: () => void) {
		this.#clock = clock;
		this.#offset = offset;
		this.#onChange = onChange;
	}

	/** The reader has taken everything before `offset`. */
	reached(offset: number): void {
		if (offset <= this.#offset) return;
		this.#offset = offset;
		this.release();
		this.#onChange();
	}

	/** Whether a program that has written up to `end` must wait. */
	mustWait(end: number): boolean {
		if (end - this.#offset <= AHEAD_BYTES) {
			this.#isIgnored = false;
			this.release();
			return false;
		}
		if (this.#isIgnored) return false;
		this.#cancelTimeout ??= this.#clock.after(TIMEOUT_MS, () => {
			this.#cancelTimeout = undefined;
			this.#isIgnored = true;
			this.#onChange();
		});
		return true;
	}

	/** Cancels the timeout. */
	release(): void {
		this.#cancelTimeout?.();
		this.#cancelTimeout = undefined;
	}
}
