/** What all connections together keep of messages that are not dealt with; when it is too much, whoever has most of it is cut off. */

export type Holder = {
	/** Ends a connection at once, with all that is kept for it. */
	cut(): void;
};

const MiB = 1024 * 1024;
/**
 * What one connection may keep by its own bounds: a message and an answer of the largest, 8 MiB of messages and 1 MiB of
 * answers besides; and a little more. A byte that is kept comes to three in the end, with what the collector of garbage
 * has not got to: a server stays below 512 MiB by that.
 */
const MOST_BYTES = 96 * MiB;

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
