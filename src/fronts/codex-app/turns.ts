/** Who has its turn when: requests that name the same thing one after the other, all others at once. */

export class Turns {
	readonly #last = new Map<string, Promise<void>>();

	/**
	 * Runs a task now, if nobody before it under this key has yet to pass, or else after them. Its turn is over when
	 * it calls `pass` or is done. Nothing is awaited before it is in its place, so turns come in the order of the calls.
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
