/** Runs a limited number of tasks at a time. The others wait, first come, first served. */
export class Semaphore {
	readonly #limit: { readonly waiting: number; readonly refuse: () => Error } | undefined;
	readonly #waiting: (() => void)[] = [];
	#free: number;

	/** When `limit.waiting` tasks wait already, `run` rejects with the error that `refuse` makes. */
	constructor(slots: number, limit?: { readonly waiting: number; readonly refuse: () => Error }) {
		this.#free = slots;
		this.#limit = limit;
	}

	/** Starts the task in this turn if a slot is free. */
	async run<T>(task: () => Promise<T>): Promise<T> {
		if (this.#free > 0) this.#free--;
		else await this.#slot();
		try {
			return await task();
		} finally {
			const next = this.#waiting.shift();
			if (next) next();
			else this.#free++;
		}
	}

	#slot(): Promise<void> {
		if (this.#limit && this.#waiting.length >= this.#limit.waiting) throw this.#limit.refuse();
		return new Promise((resolve) => this.#waiting.push(resolve));
	}
}
