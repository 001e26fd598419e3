/** A condition variable: any number of callers wait for the next change. */
export class Change {
	#waiters = new Set<() => void>();

	/** Wakes all current waiters. A caller that checks and waits without an `await` in between misses no change. */
	happen(): void {
		if (this.#waiters.size === 0) return;
		const waiters = this.#waiters;
		this.#waiters = new Set();
		for (const wake of waiters) wake();
	}

	/** Resolves at the next change or when the signal aborts, whichever is first. */
	wait(signal?: AbortSignal): Promise<void> {
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
