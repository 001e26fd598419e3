/** Runs tasks one after another, in the order in which they were submitted. A task that fails does not stop the next. */
export class Serial {
	#last: Promise<unknown> = Promise.resolve();

	/** Runs a task after all earlier ones have settled. It never starts in the same turn. */
	run<T>(task: () => Promise<T>): Promise<T> {
		const done = this.#last.then(task);
		this.#last = done.catch(() => {});
		return done;
	}

	/** Resolves when every task submitted so far has settled. */
	async idle(): Promise<void> {
		await this.#last;
	}
}
