/** A timer that can be restarted. Without a duration it never fires. */

/** The longest delay of one timer; longer ones fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

export class RestartableTimer {
	readonly #ms: number;
	readonly #onOver: () => void;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(ms: number | undefined, onOver: () => void) {
		this.#ms = ms ?? Number.POSITIVE_INFINITY;
		this.#onOver = onOver;
	}

	start(): void {
		this.stop();
		this.#wait(this.#ms);
	}

	stop(): void {
		clearTimeout(this.#timer);
	}

	#wait(left: number): void {
		if (left === Number.POSITIVE_INFINITY) return;
		const next = left > LONGEST_MS ? () => this.#wait(left - LONGEST_MS) : this.#onOver;
		this.#timer = setTimeout(next, Math.min(left, LONGEST_MS));
	}
}
