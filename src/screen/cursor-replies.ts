/** Tells programs that ask for it where their cursor is, while no attached terminal does: sessions know everything else themselves. */

import { SessionError } from "../core/errors.ts";
import type { Screens } from "../core/screen.ts";
import type { CursorQuery, Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";
import { RunningTerminals } from "./running-terminals.ts";

type CursorRepliesOptions = {
	readonly sessions: Sessions;
	readonly screens: Pick<Screens, "read">;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
};

export class CursorReplies {
	readonly #options: CursorRepliesOptions;
	readonly #terminals: RunningTerminals;

	constructor(options: CursorRepliesOptions) {
		this.#options = options;
		const { sessions, report } = options;
		this.#terminals = new RunningTerminals({ sessions, report, attend: (...given) => this.#answer(...given) });
	}

	close(): void {
		this.#terminals.close();
	}

	async #answer(session: Session, signal: AbortSignal): Promise<void> {
		if (session.spec.answersQueries !== true) return;
		for (let after = 0, tried = 0; ; ) {
			const query = await session.ask<"untilCursorAsked">({ do: "untilCursorAsked", after }, signal);
			if (!query || signal.aborted) return;
			const { end, unmovedTo = end } = query;
			const text = await this.#replyTo(session, query, signal);
			if (text !== undefined) await session.ask<"reply">({ do: "reply", end, text });
			// More was asked meanwhile, so that the screen is one of a later place: it may be the same.
			else if (unmovedTo > tried) {
				tried = unmovedTo;
				continue;
			}
			after = end;
		}
	}

	/** Undefined where the screen can't be had, or has gone on. */
	async #replyTo(
		session: Session,
		{ end, isExtended, unmovedTo = end }: CursorQuery,
		signal: AbortSignal,
	): Promise<string | undefined> {
		try {
			const { offset, cursor, firstRow } = await this.#options.screens.read(session, { signal });
			if (offset < end || offset > unmovedTo) return undefined;
			return `\u001b[${isExtended ? "?" : ""}${cursor.row - firstRow + 1};${cursor.col + 1}R`;
		} catch (error) {
			if (error instanceof SessionError) return undefined;
			throw error;
		}
	}
}
