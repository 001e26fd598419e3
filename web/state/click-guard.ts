/**
 * Prevents clicks on the wrong row.
 *
 * Rows move and buttons appear by themselves while the pointer rests. After a change, clicks are ignored for a moment,
 * and rows keep their order while the pointer is over them. Keys are not affected, because the focus moves with its
 * row.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { keepOrder, type SessionNeed } from "hawser/client";

/** Minimum time to notice a change and cancel a click. */
const SEEN_MS = 500;
/** Rows keep their order for this long after the pointer moved over them, as after a key in `hawser watch`. */
const ORDER_HOLD_MS = 2_000;

export class ClickGuard {
	readonly #isChanging = signal(false);
	/** Whether rows keep their order. */
	readonly #isHeld = signal(false);
	#shown: string | undefined;
	/** IDs in the order of the last rendering. */
	#order: readonly string[] = [];
	/** Whether rows would move if they were released. */
	#isToMove = false;
	#seen: ReturnType<typeof setTimeout> | undefined;
	#released: ReturnType<typeof setTimeout> | undefined;

	/** Whether something has just appeared, disappeared or moved. */
	get isBlocked(): ReadonlySignal<boolean> {
		return this.#isChanging;
	}

	/** Rows in display order: while held, known rows keep their order. */
	orderedNeeds(needing: readonly SessionNeed[]): readonly SessionNeed[] {
		const shown = this.#isHeld.value ? keepOrder(this.#order, needing, ({ session }) => session.id) : needing;
		this.#order = shown.map(({ session }) => session.id);
		return shown;
	}

	/** `shown` lists the clickable items in order. */
	change(shown: string): void {
		const isFirst = this.#shown === undefined;
		if (shown === this.#shown) return;
		this.#shown = shown;
		if (isFirst) return;
		this.#isToMove = this.#isHeld.peek();
		this.#wait();
	}

	/** Called when the pointer moves over the rows. */
	holdOrder(): void {
		this.#isHeld.value = true;
		clearTimeout(this.#released);
		this.#released = setTimeout(() => {
			this.#isHeld.value = false;
			// Held changes apply now.
			if (this.#isToMove) this.#wait();
			this.#isToMove = false;
		}, ORDER_HOLD_MS);
	}

	#wait(): void {
		this.#isChanging.value = true;
		clearTimeout(this.#seen);
		this.#seen = setTimeout(() => {
			this.#isChanging.value = false;
		}, SEEN_MS);
	}
}
