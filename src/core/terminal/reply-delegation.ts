/**
 * Decides which side replies to a program's terminal queries: the session, or a terminal that is attached or about to
 * be.
 */

import type { ReplySource, TerminalReplies } from "./replies.ts";

/**
 * How long a session waits for a terminal that is about to attach. Queries before that get no reply.
 * @limit queries of a new program, until its terminal attaches | the session answers them
 */
export const AWAITED_MS = 1_000;

/** The new side replies from offset `from` on. `ownFrom` is where the session began to reply for a lost terminal. */
export type DelegatedReplies = { readonly from: number; readonly ownFrom?: number };

type DelegationOptions = {
	/** Undefined on pipes. */
	readonly replies: TerminalReplies | undefined;
	/** Whether the session may reply itself. */
	readonly mayAnswer: boolean;
	/** A terminal is about to attach that will reply from the first byte on. */
	readonly isAwaiting: boolean;
	/** The end of the output. */
	readonly end: () => number;
};

export class ReplyDelegation {
	readonly #options: DelegationOptions;
	/** The session has not replied yet, because a terminal is about to attach. */
	#isAwaiting: boolean;
	/** Where the session began to reply after it lost the terminal. */
	#ownFrom: number | undefined;

	constructor(options: DelegationOptions) {
		this.#options = options;
		this.#isAwaiting = options.isAwaiting;
	}

	hand(by: ReplySource): DelegatedReplies {
		if (by === "session") {
			this.#delegate(false);
			return { from: this.#options.end() };
		}
		const from = this.#isAwaiting ? 0 : this.#options.end();
		const ownFrom = this.#ownFrom;
		this.#delegate(true);
		return ownFrom === undefined ? { from } : { from, ownFrom };
	}

	/** Gives up waiting for a terminal. */
	awaitNoMore(): void {
		if (this.#isAwaiting) this.#delegate(false);
	}

	/** The replying terminal can't be reached, or must take over again. */
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
