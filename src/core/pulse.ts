/** How a session's output has come lately: folded where the log is, for those who look at many sessions at once. */

import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";

/** What is counted apart, in milliseconds, and of how many of these it is known: five minutes, in a picture of thirty bars. */
const INTERVAL_MS = 10_000;
const INTERVALS = 30;
/** Output that follows other output sooner, in milliseconds, belongs to it: nobody calls a program quiet between two lines. */
const TOGETHER_MS = 1_000;
/** How much the newest pause counts for what is usual, and how many there must have been. */
const NEWEST_SHARE = 1 / 8;
const MIN_PAUSES = 4;

/** What is told of it. */
export type Pulse = {
	/** Grows with every byte that came or went, so that a change can be waited for. */
	readonly count: number;
	/** Where the output ended. */
	readonly offset: number;
	/** Milliseconds since the epoch; null before the first byte. */
	readonly lastOutputAt: number | null;
	/** Bytes of output in each of the last intervals of ten seconds, oldest first; the last one is under way. */
	readonly activity: readonly number[];
	/** How long it is quiet between one output and the next, as a rule; null while that is not known. */
	readonly usualIntervalMs: number | null;
	/** The newest lines of output, one character for each byte; null while a program has the whole screen. */
	readonly tail: string | null;
};

/** Of one that has ended, or of which nothing is known. */
export const NO_ACTIVITY: readonly number[] = new Array<number>(INTERVALS).fill(0);

export class PulseFold {
	readonly #clock: Clock;
	readonly #change = new Change();
	#count = 0;
	readonly #bytes = new Float64Array(INTERVALS);
	/** The number of the interval under way, by the monotonic clock. */
	#interval: number;
	#lastOutputAt: number | null = null;
	/** When output came that did not belong to what was before it. */
	#beginning: number | undefined;
	#pauses = 0;
	#usualMs = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
		this.#interval = Math.floor(clock.monotonic() / INTERVAL_MS);
	}

	get count(): number {
		return this.#count;
	}

	/** Something came or went, or the program has ended. */
	touch(): void {
		this.#count++;
		this.#change.happen();
	}

	/** Resolves when something has, or when the signal aborts. */
	changed(signal: AbortSignal | undefined): Promise<void> {
		return this.#change.next(signal);
	}

	/** So many bytes of output came, at this moment of the monotonic clock and of that for people. */
	note(bytes: number, now: number, time: number): void {
		this.#advance(now);
		const slot = this.#interval % INTERVALS;
		this.#bytes[slot] = (this.#bytes[slot] ?? 0) + bytes;
		this.#lastOutputAt = time;
		const pauseMs = now - (this.#beginning ?? now);
		if (this.#beginning !== undefined && pauseMs < TOGETHER_MS) return;
		if (this.#beginning !== undefined) {
			this.#pauses++;
			// The first ones count alike, so that the very first is not what is usual for long.
			this.#usualMs += (pauseMs - this.#usualMs) * Math.max(NEWEST_SHARE, 1 / this.#pauses);
		}
		this.#beginning = now;
	}

	read(): Pick<Pulse, "count" | "lastOutputAt" | "activity" | "usualIntervalMs"> {
		this.#advance(this.#clock.monotonic());
		const next = (this.#interval + 1) % INTERVALS;
		return {
			count: this.#count,
			lastOutputAt: this.#lastOutputAt,
			activity: [...this.#bytes.subarray(next), ...this.#bytes.subarray(0, next)],
			usualIntervalMs: this.#pauses < MIN_PAUSES ? null : Math.round(this.#usualMs),
		};
	}

	/** Intervals that have passed since are empty. */
	#advance(now: number): void {
		const interval = Math.floor(now / INTERVAL_MS);
		const passed = Math.min(interval - this.#interval, INTERVALS);
		for (let step = 0; step < passed; step++) this.#bytes[(interval - step) % INTERVALS] = 0;
		this.#interval = interval;
	}
}
