/** Limits how often something may be done. */

import type { Clock } from "./clock.ts";

export type Rate = {
	/** Zero means no limit. */
	readonly perSecond: number;
	/** The number allowed at once after a pause. */
	readonly burst: number;
};

/** A token bucket: allows `burst` at once and `perSecond` on average. */
export class RateLimiter {
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

	/** Counts one more use. Returns zero if it is allowed, else the milliseconds to wait. */
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
