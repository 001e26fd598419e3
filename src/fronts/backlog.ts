/** What all connections together keep of messages that are not dealt with; when it is too much, whoever has most of it is cut off. */

export type Holder = {
	/** Ends a connection at once, with all that is kept for it. */
	cut(): void;
};

const MiB = 1024 * 1024;
/**
 * As much as one connection may keep by its own bounds: requests that wait, a message that is not whole yet, answers
 * that are not read, and the one that made them too many.
 */
const MOST_BYTES = (64 + 64 + 16 + 16) * MiB;

export class Backlog {
	readonly #mostBytes: number;
	readonly #kept = new Map<Holder, number>();
	#bytes = 0;

	constructor(mostBytes: number = MOST_BYTES) {
		this.#mostBytes = mostBytes;
	}

	/** So much is kept for a connection from now on. */
	note(holder: Holder, bytes: number): void {
		this.#bytes += bytes - (this.#kept.get(holder) ?? 0);
		if (bytes > 0) this.#kept.set(holder, bytes);
		else this.#kept.delete(holder);
		if (this.#bytes > this.#mostBytes) this.#cutLargest();
	}

	#cutLargest(): void {
		const [largest] = [...this.#kept].reduce((most, one) => (one[1] > most[1] ? one : most));
		this.note(largest, 0);
		largest.cut();
	}
}
