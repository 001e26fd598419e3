/** The time of day as the pages show it: ages of all rows change together, and seldom. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

const TICK_MS = 10_000;

export class Clock {
	readonly #now;

	constructor() {
		this.#now = signal(Date.now());
		setInterval(() => this.tick(), TICK_MS);
	}

	/** Milliseconds since the epoch. */
	get now(): ReadonlySignal<number> {
		return this.#now;
	}

	/** At once, as when something has just happened whose age is shown. */
	tick(): void {
		this.#now.value = Date.now();
	}
}
