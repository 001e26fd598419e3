/** The clock of this machine. */

import type { Clock } from "../core/clock.ts";

export const systemClock: Clock = {
	now: () => Date.now(),
	after(ms, callback) {
		const timer = setTimeout(callback, ms).unref();
		return () => clearTimeout(timer);
	},
};
