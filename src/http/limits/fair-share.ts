/**
 * Fair scheduling of messages and JSON bodies: serves the connection that has used the least so far, for a limited
 * time in each turn of the event loop. Other work of the server runs in between.
 *
 * Use is counted in bytes, not time, so that a connection does not pay for preemption or garbage collection.
 */

/**
 * Time per turn, exceeded by one message at most. A turn itself costs a fiftieth of that. An echo takes four or five
 * turns, and each turn accepts only one connection, so longer turns would delay a client that connects after hundreds
 * of others.
 * @limit JSON bodies and messages of Codex fronts in one turn of the event loop | %, and the one in progress | the
 * rest waits; the connection that was served least is next
 */
const TURN_MS = 1;
/** Added to the bytes of each message, so that many small messages count. */
const MESSAGE_BYTES = 256;
/** Credit of a connection that was idle, in bytes: more than a person at a keyboard ever uses. */
const AHEAD_BYTES = 64 * 1024;

export class FairScheduler {
	readonly #turnMs: number;
	/** Pending messages by connection, oldest first. */
	readonly #waiting = new Map<object, { readonly bytes: number; readonly act: () => void }[]>();
	/**
	 * Bytes used per connection. A connection that is new or was idle starts at the level of the others, minus its
	 * credit.
	 */
	readonly #done = new WeakMap<object, number>();
	/** The highest use of any connection when it was served. Waiting connections are close to it. */
	#level = 0;
	/** Time used in this turn. */
	#spentMs = 0;
	#isNextTurnDue = false;

	constructor(turnMs: number = TURN_MS) {
		this.#turnMs = turnMs;
	}

	/**
	 * Processes a message of `bytes` bytes: now if no connection waits and this turn has time left, else in its turn,
	 * after the caller's earlier messages.
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

	/** The connection with the least use; among equals, the one that has waited longest. */
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
