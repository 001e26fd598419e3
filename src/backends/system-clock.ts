/** The clock of this machine. */

import type { Clock } from "../core/async/clock.ts";

/** The longest delay of one timer. Node treats a longer one as one millisecond. */
const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
	now: () => Date.now(),
	monotonic: () => performance.now(),
	after(ms, callback) {
		let timer: NodeJS.Timeout;
		const wait = (left: number) => {
			const next = left > LONGEST_MS ? () => wait(left - LONGEST_MS) : callback;
			timer = setTimeout(next, Math.min(left, LONGEST_MS)).unref();
		};
		wait(ms);
		return () => clearTimeout(timer);
	},
};
