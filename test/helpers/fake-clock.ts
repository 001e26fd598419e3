/** A clock that stands still until a test moves it. */

import type { Clock } from "../../src/core/clock.ts";

export class FakeClock implements Clock {
	#monotonic = 1_000;
	/** What the wall clock is ahead. */
	#wallAhead = 999_000;
	#timers = new Set<{ at: number; callback: () => void }>();

	now(): number {
		return this.#monotonic + this.#wallAhead;
	}

	monotonic(): number {
		return this.#monotonic;
	}

	/** Sets the wall clock forward or back, as an administrator would; no time passes. */
	jump(ms: number): void {
		this.#wallAhead += ms;
	}

	after(ms: number, callback: () => void): () => void {
		const timer = { at: this.#monotonic + ms, callback };
		this.#timers.add(timer);
		return () => this.#timers.delete(timer);
	}

	/** Moves time on, calling back whatever falls due on the way, in order. */
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

	/** Time passes while nobody gets a turn; then whatever has fallen due is called back, late. */
	stall(ms: number): void {
		this.#monotonic += ms;
		this.advance(0);
	}

	get pending(): number {
		return this.#timers.size;
	}
}

/** How far it goes at a time, and how often. */
const STEP_MS = 5;

/** A clock that goes by itself, but stands still while its process does: on a busy machine nothing is late by it. */
export class PatientClock extends FakeClock {
	/** However late this is, it is called once. */
	readonly #steps = setInterval(() => this.advance(STEP_MS), STEP_MS);

	stop(): void {
		clearInterval(this.#steps);
	}
}
