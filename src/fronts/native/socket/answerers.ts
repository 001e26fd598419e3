/**
 * Which of the terminals that are attached to a session answers what its program asks: whoever has control, else who
 * has been there for longest; the session itself while there is none.
 *
 * Each byte of output has one answerer, decided before anybody has it: a change of hands is at a place that lies
 * beyond all that was sent to either of the two. Both are told the place, and leave out the questions that are not theirs.
 */

import { SessionError } from "../../../core/errors.ts";
import type { OwnReplies, Replier, Session } from "../../../core/session.ts";
import type { RepliesMessage } from "../../../protocol/socket.ts";

export interface Answerer {
	/** The byte after the last one that was given to it. */
	readonly sent: number;
	/** The fence of the lease, if it has that; the highest is right while the news is on its way. */
	readonly fence: number | undefined;
	tell(replies: RepliesMessage): void;
}

export class Answerers {
	readonly #session: Session;
	/** In the order of their coming. */
	readonly #terminals = new Set<Answerer>();
	#chosen: Answerer | undefined;
	/** The session answers no question that ends after this, since a terminal does. */
	#from = 0;
	#turn: Promise<void> = Promise.resolve();

	constructor(session: Session) {
		this.#session = session;
	}

	/** Resolves when it was told whether it answers, before which no output is to be sent to it. */
	join(terminal: Answerer): Promise<void> {
		this.#terminals.add(terminal);
		return this.review();
	}

	leave(terminal: Answerer): Promise<void> {
		this.#terminals.delete(terminal);
		return this.review();
	}

	/** Somebody has come or gone, or control has changed hands. One change at a time. */
	review(): Promise<void> {
		this.#turn = this.#turn.then(() => this.#choose());
		return this.#turn;
	}

	async #choose(): Promise<void> {
		const before = this.#chosen;
		const next = this.#best();
		if (next === before) return;
		this.#chosen = next;
		if (!before || !next) this.#from = await this.#hand(next ? "terminal" : "session");
		const from = Math.max(this.#from, before?.sent ?? 0, next?.sent ?? 0);
		before?.tell({ mine: false, from });
		next?.tell({ mine: true, from });
	}

	#best(): Answerer | undefined {
		let best: Answerer | undefined;
		for (const terminal of this.#terminals) {
			if (!best || (terminal.fence ?? -1) > (best.fence ?? -1)) best = terminal;
		}
		return best;
	}

	/** The session has answered some of it: what was sent was the terminal's all the same, and what comes next is its again. */
	#leaveOut({ from, to }: OwnReplies): void {
		this.#from = Math.max(this.#from, to);
		const terminal = this.#chosen;
		if (!terminal || to <= terminal.sent) return;
		terminal.tell({ mine: false, from: Math.max(from, terminal.sent) });
		terminal.tell({ mine: true, from: to });
	}

	async #hand(by: Replier): Promise<number> {
		try {
			return await this.#session.handReplies(by, (part) => this.#leaveOut(part));
		} catch (error) {
			// An older keeper never answers, and what was asked before now is too late for anybody.
			if (SessionError.from(error).code === "unsupported")
				return this.#session.end().then(({ offset }) => offset, never);
			return never();
		}
	}
}

/** The session has ended, or can't be reached: nothing is asked any more that could be answered. */
function never(): number {
	return Number.MAX_SAFE_INTEGER;
}
