/**
 * Whether a click is for what somebody aimed at. Sessions come to need somebody by themselves, so that rows move and
 * buttons appear under a pointer that rests: until what has changed could be seen, nothing takes clicks, and rows keep
 * their order while the pointer is on them. Keys are not concerned, for the focus goes where its row goes.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { heldInOrder, type Needing } from "hawser/client";

/** Nobody sees a change, and thinks better of a click, in less. */
const SEEN_MS = 500;
/** Rows keep their order for so long after the pointer was moved over them, as after a key in `hawser watch`. */
const HOLD_MS = 2_000;

export class Aim {
	readonly #isChanging = signal(false);
	/** Whether rows keep their order. */
	readonly #isHeld = signal(false);
	#shown: string | undefined;
	/** By their ids, as they were drawn last. */
	#order: readonly string[] = [];
	/** Whether something has changed since rows keep their order. */
	#isToMove = false;
	#seen: ReturnType<typeof setTimeout> | undefined;
	#released: ReturnType<typeof setTimeout> | undefined;

	/** Whether something has just come, gone or moved. */
	get isChanging(): ReadonlySignal<boolean> {
		return this.#isChanging;
	}

	/** As they are to be drawn: while they are held, those that were drawn before in the same order. */
	inOrder(needing: readonly Needing[]): readonly Needing[] {
		const shown = this.#isHeld.value ? heldInOrder(this.#order, needing, ({ session }) => session.id) : needing;
		this.#order = shown.map(({ session }) => session.id);
		return shown;
	}

	/** `shown` names what there is to click on, in its order. */
	change(shown: string): void {
		const isFirst = this.#shown === undefined;
		if (shown === this.#shown) return;
		this.#shown = shown;
		if (isFirst) return;
		this.#isToMove = this.#isHeld.peek();
		this.#wait();
	}

	/** The pointer was moved over the rows. */
	hold(): void {
		this.#isHeld.value = true;
		clearTimeout(this.#released);
		this.#released = setTimeout(() => {
			this.#isHeld.value = false;
			// What was held back moves now.
			if (this.#isToMove) this.#wait();
			this.#isToMove = false;
		}, HOLD_MS);
	}

	#wait(): void {
		this.#isChanging.value = true;
		clearTimeout(this.#seen);
		this.#seen = setTimeout(() => {
			this.#isChanging.value = false;
		}, SEEN_MS);
	}
}
