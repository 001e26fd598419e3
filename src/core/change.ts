/** Waiting for a change, with an abort signal that ends the wait. */

/** A wake-up that many may wait for. Nothing is awaited between a waiter's check and its wait, so no change is missed. */
export class Change {
	#waiters = new Set<() => void>();

	/** Wakes everybody who waits now. */
	happen(): void {
		if (this.#waiters.size === 0) return;
		const waiters = this.#waiters;
		this.#waiters = new Set();
		for (const wake of waiters) wake();
	}

	/** Resolves at the next change or when the signal aborts, whichever is first. */
	next(signal?: AbortSignal): Promise<void> {
		if (signal?.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			const wake = () => {
				signal?.removeEventListener("abort", abort);
				resolve();
			};
			const abort = () => {
				this.#waiters.delete(wake);
				resolve();
			};
			this.#waiters.add(wake);
			signal?.addEventListener("abort", abort, { once: true });
		});
	}
}
