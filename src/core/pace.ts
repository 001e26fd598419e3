/**
 * Lets a program run beside a reader instead of far ahead of it. For a stream that many live readers stand behind:
 * without it the program would take the time of whoever serves them, and most of what it writes would be left out.
 *
 * It never waits for long: a reader that does not move for a moment is given up until it has caught up.
 */

import type { Clock } from "./clock.ts";

/** How far the program may be ahead: with a chunk more, still less than a live reader may be behind. */
const AHEAD_BYTES = 256 * 1024;
/** How long the program may be kept waiting without a move of the reader. */
const PATIENCE_MS = 250;

export class Pace {
	readonly #clock: Clock;
	readonly #onChange: () => void;
	#offset: number;
	#isGivenUp = false;
	#cancelPatience: (() => void) | undefined;

	/** The reader stands at `offset`. `onChange` hears that the program may have to wait, or need no longer. */
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
			this.#isGivenUp = false;
			this.release();
			return false;
		}
		if (this.#isGivenUp) return false;
		this.#cancelPatience ??= this.#clock.after(PATIENCE_MS, () => {
			this.#cancelPatience = undefined;
			this.#isGivenUp = true;
			this.#onChange();
		});
		return true;
	}

	/** Nothing is waited for any more. */
	release(): void {
		this.#cancelPatience?.();
		this.#cancelPatience = undefined;
	}
}
