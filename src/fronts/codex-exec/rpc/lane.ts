/** So many at a time, the rest in the order in which they came. */

export class Lane {
	#free: number;
	readonly #waiting: (() => Promise<void>)[] = [];

	constructor(places: number) {
		this.#free = places;
	}

	/** The task must not reject. */
	run(task: () => Promise<void>): void {
		if (this.#free === 0) {
			this.#waiting.push(task);
			return;
		}
		this.#free--;
		void this.#work(task);
	}

	async #work(first: () => Promise<void>): Promise<void> {
		for (let task: (() => Promise<void>) | undefined = first; task; task = this.#waiting.shift()) await task();
		this.#free++;
	}
}
