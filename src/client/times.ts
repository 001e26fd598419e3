/** How long things may take, and how soon they are tried again. */

export type Times = {
	/** From the first step of a connection to `welcome`. */
	readonly connectMs: number;
	/** How long nothing may arrive before we ask whether the server is there, and before it is not. */
	readonly pingMs: number;
	readonly deadMs: number;
	/** The pause before the first new attempt, doubled with each up to the last. */
	readonly firstRetryMs: number;
	readonly lastRetryMs: number;
};

export const defaultTimes: Times = {
	connectMs: 10_000,
	pingMs: 10_000,
	deadMs: 25_000,
	firstRetryMs: 250,
	lastRetryMs: 10_000,
};

/** The pauses between attempts, with a jitter so that clients of a restarted server don't all come at once. */
export class Backoff {
	readonly #times: Times;
	readonly #random: () => number;
	#failures = 0;

	constructor(times: Times, random: () => number = Math.random) {
		this.#times = times;
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

/** Resolves after a while, or as soon as the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) return resolve();
		const done = () => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", done);
			resolve();
		};
		const timer = setTimeout(done, ms);
		signal?.addEventListener("abort", done, { once: true });
	});
}
