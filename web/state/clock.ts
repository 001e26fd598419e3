/** The time for displayed ages: all rows change together, and no more often than needed. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

const SLOW_TICK_MS = 10_000;
/** Interval while an age is shown in seconds. */
const FAST_TICK_MS = 1_000;

export class Clock {
	readonly #now = signal(Date.now());
	#timer: ReturnType<typeof setInterval>;
	#isQuick = false;
	#isSeen = true;

	constructor() {
		this.#timer = setInterval(() => this.tick(), SLOW_TICK_MS);
	}

	/** Milliseconds since the epoch. */
	get now(): ReadonlySignal<number> {
		return this.#now;
	}

	/** Updates at once, for example for a new age. */
	tick(): void {
		this.#now.value = Date.now();
	}

	/** Whether any age is shown in seconds. */
	setFast(isQuick: boolean): void {
		if (isQuick === this.#isQuick) return;
		this.#isQuick = isQuick;
		this.#restart();
	}

	/** Whether the page is visible. */
	setVisible(isSeen: boolean): void {
		this.#isSeen = isSeen;
		this.#restart();
	}

	#restart(): void {
		clearInterval(this.#timer);
		this.#timer = setInterval(() => this.tick(), this.#isQuick && this.#isSeen ? FAST_TICK_MS : SLOW_TICK_MS);
		this.tick();
	}
}
