/** The delay before a retry: doubles with each one, up to a longest delay. */

export class RetryDelay {
	readonly #firstMs: number;
	readonly #longestMs: number;
	#nextMs: number;

	constructor(firstMs: number, longestMs: number) {
		this.#firstMs = firstMs;
		this.#longestMs = longestMs;
		this.#nextMs = firstMs;
	}

	/** The delay before the next retry, in milliseconds. */
	next(): number {
		const ms = this.#nextMs;
		this.#nextMs = Math.min(2 * ms, this.#longestMs);
		return ms;
	}

	/** Called after a success. */
	reset(): void {
		this.#nextMs = this.#firstMs;
	}
}

/** For writes that a disk refuses. */
export function diskRetryDelay(): RetryDelay {
	return new RetryDelay(1_000, 30_000);
}
