/** The time of day as the pages show it: ages of all rows change together, and no more often than somebody sees. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

const CALM_MS = 10_000;
/** While something is counted in seconds. */
const QUICK_MS = 1_000;

export class Clock {
	readonly #now = signal(Date.now());
	#timer: ReturnType<typeof setInterval>;
	#isQuick = false;
	#isSeen = true;

	constructor() {
		this.#timer = setInterval(() => this.tick(), CALM_MS);
	}

	/** Milliseconds since the epoch. */
	get now(): ReadonlySignal<number> {
		return this.#now;
	}

	/** At once, as when something has just happened whose age is shown. */
	tick(): void {
		this.#now.value = Date.now();
	}

	/** Whether seconds are counted. */
	hurry(isQuick: boolean): void {
		if (isQuick === this.#isQuick) return;
		this.#isQuick = isQuick;
		this.#restart();
	}

	/** Whether anybody can see the page. */
	see(isSeen: boolean): void {
		this.#isSeen = isSeen;
		this.#restart();
	}

	#restart(): void {
		clearInterval(this.#timer);
		this.#timer = setInterval(() => this.tick(), this.#isQuick && this.#isSeen ? QUICK_MS : CALM_MS);
		this.tick();
	}
}
