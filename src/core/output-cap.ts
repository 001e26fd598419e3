/** How much of a program's output somebody wants: so many bytes of each stream, and nothing after them. */

import type { Stream } from "./event.ts";

/** What of some output is within the cap. */
export type Capped = {
	readonly bytes: Uint8Array;
	/** With these bytes the cap is reached exactly: nothing more of this stream will follow. */
	readonly capReached: boolean;
};

export class OutputCap {
	readonly #most: number;
	readonly #seen = new Map<Stream, number>();
	readonly #reached = new Set<Stream>();

	/** `most` is in bytes, and counts for each stream by itself; null for all there is. */
	constructor(most: number | null) {
		this.#most = most ?? Number.POSITIVE_INFINITY;
	}

	/** The part of what came that is wanted; undefined once the cap was reached. A cap of zero is reached by the first output. */
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
