/** Counts a session's recent output beside its log, for clients that show many sessions. */

import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";

/** Length in milliseconds and number of the intervals: five minutes in total. */
const INTERVAL_MS = 10_000;
const INTERVALS = 30;
/** Output that follows within this time counts as one burst. A program is not quiet between two lines. */
const TOGETHER_MS = 1_000;
/** Weight of the newest pause in the average, and the number of pauses before an average is reported. */
const NEWEST_SHARE = 1 / 8;
const MIN_PAUSES = 4;

/** A summary of a session's output activity. */
export type OutputActivity = {
	/** Grows with every input or output byte, so that callers can wait for a change. */
	readonly count: number;
	/** The end of the output. */
	readonly offset: number;
	/** Milliseconds since the epoch; null before the first byte. */
	readonly lastOutputAt: number | null;
	/** Time of the last byte in either direction, in milliseconds since the epoch. Undefined from an older keeper. */
	readonly activeAt?: number | null;
	/** Output bytes in each of the last intervals of ten seconds, oldest first; the last one is incomplete. */
	readonly activity: readonly number[];
	/** The usual pause between bursts of output; null until enough of them were seen. */
	readonly usualIntervalMs: number | null;
	/** The last lines of output, one character per byte; null while a program uses the alternate screen. */
	readonly tail: string | null;
};

/** For a session that has ended or can't be reached. */
export const NO_ACTIVITY: readonly number[] = new Array<number>(INTERVALS).fill(0);

export class OutputActivityCounter {
	readonly #clock: Clock;
	readonly #change = new Change();
	#count = 0;
	readonly #bytes = new Float64Array(INTERVALS);
	/** Number of the current interval, by the monotonic clock. */
	#interval: number;
	#activeAt: number | null = null;
	#lastOutputAt: number | null = null;
	/** Start of the last burst of output. */
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

	/** Records input, output, or the program's end. */
	touch(): void {
		this.#count++;
		this.#activeAt = this.#clock.now();
		this.#change.happen();
	}

	/** Resolves at the next change, or when the signal aborts. */
	changed(signal: AbortSignal | undefined): Promise<void> {
		return this.#change.wait(signal);
	}

	/** Records output bytes, with the monotonic and the wall-clock time. */
	note(bytes: number, now: number, time: number): void {
		this.#advance(now);
		const slot = this.#interval % INTERVALS;
		this.#bytes[slot] = (this.#bytes[slot] ?? 0) + bytes;
		this.#lastOutputAt = time;
		const pauseMs = now - (this.#beginning ?? now);
		if (this.#beginning !== undefined && pauseMs < TOGETHER_MS) return;
		if (this.#beginning !== undefined) {
			this.#pauses++;
			// The first pauses have equal weight, so that the very first one does not dominate.
			this.#usualMs += (pauseMs - this.#usualMs) * Math.max(NEWEST_SHARE, 1 / this.#pauses);
		}
		this.#beginning = now;
	}

	read(): Pick<OutputActivity, "count" | "activeAt" | "lastOutputAt" | "activity" | "usualIntervalMs"> {
		this.#advance(this.#clock.monotonic());
		const next = (this.#interval + 1) % INTERVALS;
		return {
			count: this.#count,
			activeAt: this.#activeAt,
			lastOutputAt: this.#lastOutputAt,
			activity: [...this.#bytes.subarray(next), ...this.#bytes.subarray(0, next)],
			usualIntervalMs: this.#pauses < MIN_PAUSES ? null : Math.round(this.#usualMs),
		};
	}

	/** Clears the intervals that have passed. */
	#advance(now: number): void {
		const interval = Math.floor(now / INTERVAL_MS);
		const passed = Math.min(interval - this.#interval, INTERVALS);
		for (let step = 0; step < passed; step++) this.#bytes[(interval - step) % INTERVALS] = 0;
		this.#interval = interval;
	}
}
