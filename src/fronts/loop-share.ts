/**
 * Whose message is dealt with next, where many connections have some: that of whoever has had least done, and in each
 * turn of the event loop only for so long. Everything else that the server does has its turn in between.
 *
 * What each has had done is counted in bytes, not in time: who is interrupted by others, or by a collection of garbage,
 * must not pay for that.
 */

/**
 * Of one turn, and one message more. A turn itself costs a fiftieth of that; but an echo takes four or five of them,
 * and one connection is accepted in each, so that who comes after hundreds of others waits for as many.
 */
const TURN_MS = 1;
/** What a message counts besides its own bytes, so that many small ones count. */
const MESSAGE_BYTES = 256;
/** By so much is one ahead of others who has had nothing done for a while: more than somebody at a keyboard ever asks for. */
const AHEAD_BYTES = 64 * 1024;

export class LoopShare {
	readonly #turnMs: number;
	/** What is to be done for each, in order. */
	readonly #waiting = new Map<object, { readonly bytes: number; readonly act: () => void }[]>();
	/** What each has had done, in bytes; of those who are new or were away as if they had been there, but for what they are ahead. */
	readonly #done = new WeakMap<object, number>();
	/** The most that anybody had had done when it was their turn: what all who wait have, or nearly. */
	#level = 0;
	/** Of this turn. */
	#spentMs = 0;
	#isNextTurnDue = false;

	constructor(turnMs: number = TURN_MS) {
		this.#turnMs = turnMs;
	}

	/**
	 * Deals with a message of so many bytes: now, if nobody waits and this turn has time left; or else when it is the
	 * caller's turn, after all of the caller's before it.
	 */
	take(caller: object, bytes: number, act: () => void): void {
		const waiting = this.#waiting.get(caller);
		if (waiting) waiting.push({ bytes, act });
		else {
			this.#waiting.set(caller, [{ bytes, act }]);
			this.#done.set(caller, Math.max(this.#level - AHEAD_BYTES, this.#doneFor(caller)));
		}
		this.#work();
	}

	#work(): void {
		this.#awaitNextTurn();
		while (this.#spentMs < this.#turnMs && this.#waiting.size > 0) this.#serve(this.#next());
	}

	#serve(caller: object): void {
		const waiting = this.#waiting.get(caller);
		const message = waiting?.shift();
		if (waiting?.length === 0) this.#waiting.delete(caller);
		if (!message) return;
		const done = this.#doneFor(caller);
		this.#level = Math.max(this.#level, done);
		this.#done.set(caller, done + message.bytes + MESSAGE_BYTES);
		const begun = performance.now();
		try {
			message.act();
		} finally {
			this.#spentMs += performance.now() - begun;
		}
	}

	/** Of those who have had as little as each other, whoever has waited for longer. */
	#next(): object {
		let next: object = this;
		let least = Number.POSITIVE_INFINITY;
		for (const caller of this.#waiting.keys()) {
			const done = this.#doneFor(caller);
			if (done < least) [next, least] = [caller, done];
		}
		return next;
	}

	#doneFor(caller: object): number {
		return this.#done.get(caller) ?? 0;
	}

	#awaitNextTurn(): void {
		if (this.#isNextTurnDue) return;
		this.#isNextTurnDue = true;
		setImmediate(() => {
			this.#isNextTurnDue = false;
			this.#spentMs = 0;
			if (this.#waiting.size > 0) this.#work();
		});
	}
}
