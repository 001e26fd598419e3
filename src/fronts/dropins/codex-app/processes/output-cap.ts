/** Limits the output of a program that a client gets, per stream. */

import type { Stream } from "../../../../words/state.ts";

/** The part of some output below the cap. */
export type Capped = {
	readonly bytes: Uint8Array;
	/** These bytes reach the cap exactly; nothing more of this stream follows. */
	readonly capReached: boolean;
};

export class OutputCap {
	readonly #most: number;
	readonly #seen = new Map<Stream, number>();
	readonly #reached = new Set<Stream>();

	/** `most` is in bytes per stream; null for no limit. */
	constructor(most: number | null) {
		this.#most = most ?? Number.POSITIVE_INFINITY;
	}

	/**
	 * The part of `bytes` below the cap; undefined after the cap was reached. A cap of zero is reached by the first
	 * output.
	 */
	take(stream: Stream, bytes: Uint8Array): Capped | undefined {
		if (this.hasReached(stream)) return undefined;
		const seen = this.#seen.get(stream) ?? 0;
		const wanted = bytes.subarray(0, this.#most - seen);
		this.#seen.set(stream, seen + wanted.byteLength);
		const capReached = seen + wanted.byteLength === this.#most;
		if (capReached) this.#reached.add(stream);
		return { bytes: wanted, capReached };
	}

	hasReached(stream: Stream): boolean {
		return this.#reached.has(stream);
	}
}
