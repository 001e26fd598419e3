/** Timeouts and retry delays. */

export type ConnectionTimeouts = {
	/** Time allowed from the start of a connection to `welcome`. */
	readonly connectMs: number;
	/** Silence before a ping, and before the connection counts as dead. */
	readonly pingMs: number;
	readonly deadMs: number;
	/** Delay before the first retry. It doubles with each retry, up to the last value. */
	readonly firstRetryMs: number;
	readonly lastRetryMs: number;
};

export const defaultTimeouts: ConnectionTimeouts = {
	connectMs: 10_000,
	pingMs: 10_000,
	deadMs: 25_000,
	firstRetryMs: 250,
	lastRetryMs: 10_000,
};

/** Retry delays with jitter, so that the clients of a restarted server don't reconnect all at once. */
export class Backoff {
	readonly #times: ConnectionTimeouts;
	readonly #random: () => number;
	#failures = 0;

	constructor(timeouts: ConnectionTimeouts, random: () => number = Math.random) {
		this.#times = timeouts;
		this.#random = random;
	}

	next(): number {
		const { firstRetryMs, lastRetryMs } = this.#times;
		const longest = Math.min(lastRetryMs, firstRetryMs * 2 ** this.#failures);
		this.#failures = Math.min(this.#failures + 1, 30);
		return longest * (0.5 + this.#random() / 2);
	}

	reset(): void {
		this.#failures = 0;
	}
}
