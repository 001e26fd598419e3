/**
 * Who has a PTY: one connection at a time, whether a program runs or not.
 *
 * A holder is asked to leave by its hook, which is there from the moment it has the seat until the
 * moment it has left it, so that there is no phase in which it can't be evicted. The seat is free only
 * when the holder says so itself: until then it may still be reading or writing.
 */

import { Change } from "../../../core/change.ts";

/** What a holder has; leaving it twice, or after somebody else took the next one, does nothing. */
type Seat = { leave(): void };

export class Holder {
	#current: { readonly evict: () => void } | undefined;
	readonly #change = new Change();

	get isHeld(): boolean {
		return this.#current !== undefined;
	}

	/** The seat, if nobody has it. `evict` may be called more than once, and must not wait for anything. */
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

	/** Evicts whoever has the seat, again and again if others come first; undefined when the signal aborts before it is free. */
	async takeOver(evict: () => void, signal: AbortSignal): Promise<Seat | undefined> {
		while (!signal.aborted) {
			const seat = this.take(evict);
			if (seat) return seat;
			const other = this.#current;
			other?.evict();
			// It may have left at once, which nobody would wake us for any more.
			if (this.#current === other) await this.#change.next(signal);
		}
		return undefined;
	}
}
