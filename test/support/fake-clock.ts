/** A clock that stands still until a test advances it. */

import type { Clock } from "../../src/core/async/clock.ts";

export class FakeClock implements Clock {
	#monotonic = 1_000;
	/** The wall clock's difference. */
	#wallAhead = 999_000;
	#timers = new Set<{ at: number; callback: () => void }>();

	now(): number {
		return this.#monotonic + this.#wallAhead;
	}

	monotonic(): number {
		return this.#monotonic;
	}

	/** Sets the wall clock forward or back, as an administrator would. No time passes. */
	jump(ms: number): void {
		this.#wallAhead += ms;
	}

	after(ms: number, callback: () => void): () => void {
		const timer = { at: this.#monotonic + ms, callback };
		this.#timers.add(timer);
		return () => this.#timers.delete(timer);
	}

	/** Advances time, running due callbacks in order. */
	advance(ms: number): void {
		const until = this.#monotonic + ms;
		for (;;) {
			const due = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
			if (!due) break;
			this.#timers.delete(due);
			this.#monotonic = Math.max(this.#monotonic, due.at);
			due.callback();
		}
		this.#monotonic = until;
	}

	/** Advances time without running callbacks, then runs all that are due, late. */
	stall(ms: number): void {
		this.#monotonic += ms;
		this.advance(0);
	}

	get pending(): number {
		return this.#timers.size;
	}
}

/** The size of a step and the number of steps. */
const STEP_MS = 5;

/** A clock that runs, but stops while its process is delayed: on a busy machine nothing is late by it. */
export class PatientClock extends FakeClock {
	/** However late this runs, it is called once. */
	readonly #steps = setInterval(() => this.advance(STEP_MS), STEP_MS);

	stop(): void {
		clearInterval(this.#steps);
	}
}
