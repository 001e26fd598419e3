/** A limit on how often something may be done. */

import type { Clock } from "./clock.ts";

export type Rate = {
	/** Zero is no limit. */
	readonly perSecond: number;
	/** How many may come at once after a quiet while. */
	readonly burst: number;
};

/** Lets through `burst` at once and `perSecond` in the long run. */
export class Bucket {
	readonly #rate: Rate;
	readonly #clock: Clock;
	#left: number;
	#at: number;

	constructor(rate: Rate, clock: Clock) {
		this.#rate = rate;
		this.#clock = clock;
		this.#left = rate.burst;
		this.#at = clock.monotonic();
	}

	/** Counts one more; zero if it may be, otherwise how long to wait, in milliseconds. */
	take(): number {
		const now = this.#clock.monotonic();
		const { perSecond, burst } = this.#rate;
		if (perSecond === 0) return 0;
		this.#left = Math.min(burst, this.#left + ((now - this.#at) * perSecond) / 1000);
		this.#at = now;
		if (this.#left < 1) return Math.ceil(((1 - this.#left) * 1000) / perSecond);
		this.#left -= 1;
		return 0;
	}
}
