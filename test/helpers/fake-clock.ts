/** A clock that stands still until a test moves it. */

import type { Clock } from "../../src/core/clock.ts";

export class FakeClock implements Clock {
	#now = 1_000_000;
	#timers = new Set<{ at: number; callback: () => void }>();

	now(): number {
		return this.#now;
	}

	after(ms: number, callback: () => void): () => void {
		const timer = { at: this.#now + ms, callback };
		this.#timers.add(timer);
		return () => this.#timers.delete(timer);
	}

	/** Moves time on, calling back whatever falls due on the way, in order. */
	advance(ms: number): void {
		const until = this.#now + ms;
		for (;;) {
			const due = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
			if (!due) break;
			this.#timers.delete(due);
			this.#now = Math.max(this.#now, due.at);
			due.callback();
		}
		this.#now = until;
	}

	get pending(): number {
		return this.#timers.size;
	}
}
