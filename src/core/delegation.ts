/** Who answers what a session's program asks its terminal: the session itself, or a terminal that is attached or about to be. */

import type { Replies } from "./replies.ts";
import type { Operations, Replier } from "./session.ts";

/** How long a terminal that is about to attach may take: what was asked before that is not answered any more. */
export const AWAITED_MS = 1_000;

type DelegationOptions = {
	/** Of a terminal only. */
	readonly replies: Replies | undefined;
	/** Whether the session ever answers itself. */
	readonly mayAnswer: boolean;
	/** A terminal is about to attach that answers from the first byte on. */
	readonly isAwaiting: boolean;
	/** Where the output ends. */
	readonly end: () => number;
};

export class Delegation {
	readonly #options: DelegationOptions;
	/** The session has answered nothing yet, since a terminal is about to attach that will. */
	#isAwaiting: boolean;
	/** Where it began to answer because whoever had a terminal do so was lost. */
	#ownFrom: number | undefined;

	constructor(options: DelegationOptions) {
		this.#options = options;
		this.#isAwaiting = options.isAwaiting;
	}

	hand(by: Replier): Operations["replies"]["answer"] {
		if (by === "session") {
			this.#delegate(false);
			return { from: this.#options.end() };
		}
		const from = this.#isAwaiting ? 0 : this.#options.end();
		const ownFrom = this.#ownFrom;
		this.#delegate(true);
		return ownFrom === undefined ? { from } : { from, ownFrom };
	}

	/** No terminal has come. */
	awaitNoMore(): void {
		if (this.#isAwaiting) this.#delegate(false);
	}

	/** Whoever answered can't be reached, or must say again that it does. */
	abandon(): void {
		const { replies, end } = this.#options;
		const ownFrom = replies?.isDelegated ? end() : this.#ownFrom;
		this.#delegate(false);
		this.#ownFrom = ownFrom;
	}

	#delegate(isDelegated: boolean): void {
		this.#isAwaiting = false;
		this.#ownFrom = undefined;
		const { replies, mayAnswer } = this.#options;
		if (replies && mayAnswer) replies.isDelegated = isDelegated;
	}
}
