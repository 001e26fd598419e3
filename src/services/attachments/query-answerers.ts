/**
 * Chooses which attached terminal answers a program's queries: the one with control, else the one attached longest. The
 * session itself answers while no terminal is attached.
 *
 * Each output byte has exactly one answerer, chosen before the byte is sent. The answerer changes only at an offset
 * beyond all output that either terminal has received. Both terminals receive that offset and ignore the queries of the
 * other one's range.
 */

import type { RepliesMessage } from "../../api/types.ts";
import { Serial } from "../../async/serial.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { ReplySource, SelfReplyRange } from "../../core/terminal/replies.ts";

export interface QueryAnswerer {
	/** Offset after the last byte sent to it. */
	readonly sent: number;
	/** The fence of its lease, if it has control. The highest one is current while a change is being reported. */
	readonly fence: number | undefined;
	report(replies: Omit<RepliesMessage, "type">): void;
}

export class QueryAnswerers {
	readonly #session: Session;
	/** In order of attachment. */
	readonly #terminals = new Set<QueryAnswerer>();
	#chosen: QueryAnswerer | undefined;
	/** The session answers no query that ends after this offset. */
	#from = 0;
	readonly #reviews = new Serial();

	constructor(session: Session) {
		this.#session = session;
	}

	/** Resolves once the terminal knows whether it answers. No output may be sent to it before. */
	join(terminal: QueryAnswerer): Promise<void> {
		this.#terminals.add(terminal);
		return this.review();
	}

	leave(terminal: QueryAnswerer): Promise<void> {
		this.#terminals.delete(terminal);
		return this.review();
	}

	/** Called when a terminal attaches or leaves, or control changes. Handles one change at a time. */
	review(): Promise<void> {
		return this.#reviews.run(() => this.#choose());
	}

	async #choose(): Promise<void> {
		const before = this.#chosen;
		const next = this.#best();
		if (next === before) return;
		this.#chosen = next;
		if (!before || !next) this.#from = await this.#delegate(next ? "terminal" : "session");
		const from = Math.max(this.#from, before?.sent ?? 0, next?.sent ?? 0);
		before?.report({ mine: false, from });
		next?.report({ mine: true, from });
	}

	#best(): QueryAnswerer | undefined {
		let best: QueryAnswerer | undefined;
		for (const terminal of this.#terminals) {
			if (!best || (terminal.fence ?? -1) > (best.fence ?? -1)) best = terminal;
		}
		return best;
	}

	/** The session has answered a range itself. The terminal keeps what was already sent to it and answers again after the range. */
	#leaveOut({ from, to }: SelfReplyRange): void {
		this.#from = Math.max(this.#from, to);
		const terminal = this.#chosen;
		if (!terminal || to <= terminal.sent) return;
		terminal.report({ mine: false, from: Math.max(from, terminal.sent) });
		terminal.report({ mine: true, from: to });
	}

	async #delegate(by: ReplySource): Promise<number> {
		try {
			return await this.#session.delegateReplies(by, (part) => this.#leaveOut(part));
		} catch (error) {
			// An older keeper never answers by itself, and it is too late to answer earlier queries.
			if (SessionError.from(error).code === "unsupported")
				return this.#session.end().then(({ offset }) => offset, never);
			return never();
		}
	}
}

/** For a session that has ended or can't be reached: there are no more queries to answer. */
function never(): number {
	return Number.MAX_SAFE_INTEGER;
}
