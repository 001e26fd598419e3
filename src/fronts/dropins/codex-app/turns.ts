/** Runs tasks with the same key one after the other, and all others concurrently. */

export class KeyedSerial {
	readonly #last = new Map<string, Promise<void>>();

	/**
	 * Runs a task after the earlier tasks of its key have passed. Its turn is over when it calls `pass` or ends. The task
	 * is queued before anything is awaited, so turns follow the order of the calls.
	 */
	take<T>(key: string | undefined, task: (pass: () => void) => Promise<T>): Promise<T> {
		if (key === undefined) return task(() => {});
		let pass = () => {};
		const passed = new Promise<void>((resolve) => {
			pass = resolve;
		});
		const before = this.#last.get(key);
		const done = before === undefined ? task(pass) : before.then(() => task(pass));
		void done.then(pass, pass);
		this.#last.set(key, passed);
		void passed.then(() => {
			if (this.#last.get(key) === passed) this.#last.delete(key);
		});
		return done;
	}
}
