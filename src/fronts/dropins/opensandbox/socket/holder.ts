/**
 * The seat of a PTY's holder: one connection at a time, whether or not a program runs.
 *
 * A holder can be evicted from the moment it takes the seat until it leaves. The seat is free only once the holder
 * leaves: until then it may still read or write.
 */

import { Change } from "../../../../core/async/change.ts";

/** Leaving twice, or after another connection took the seat, has no effect. */
type Seat = { leave(): void };

export class Holder {
	#current: { readonly evict: () => void } | undefined;
	readonly #change = new Change();

	get isHeld(): boolean {
		return this.#current !== undefined;
	}

	/** Takes the seat if it is free. `evict` may be called more than once and must not block. */
	take(evict: () => void): Seat | undefined {
		if (this.#current) return undefined;
		const mine = { evict };
		this.#current = mine;
		return {
			leave: () => {
				if (this.#current !== mine) return;
				this.#current = undefined;
				this.#change.happen();
			},
		};
	}

	/**
	 * Evicts the holder until the seat is taken, repeatedly if others are faster; undefined if the signal aborts first.
	 */
	async takeOver(evict: () => void, signal: AbortSignal): Promise<Seat | undefined> {
		while (!signal.aborted) {
			const seat = this.take(evict);
			if (seat) return seat;
			const other = this.#current;
			other?.evict();
			// The holder may have left inside `evict`, before we could wait for the change.
			if (this.#current === other) await this.#change.wait(signal);
		}
		return undefined;
	}
}
