/** Answers cursor position queries of programs while no attached terminal does. Sessions answer all other queries themselves. */

import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { CursorQuery } from "../../core/terminal/replies.ts";
import { RunningTerminals } from "./running-terminals.ts";

type CursorRepliesOptions = {
	readonly sessions: Sessions;
	readonly screens: Pick<ScreenReader, "read">;
	readonly clock: Clock;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class CursorReplies {
	readonly #options: CursorRepliesOptions;
	readonly #terminals: RunningTerminals;

	constructor(options: CursorRepliesOptions) {
		this.#options = options;
		const { sessions, report, clock } = options;
		this.#terminals = new RunningTerminals({ sessions, report, clock, attend: (...given) => this.#answer(...given) });
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
			// Another query arrived during the request, so the screen belongs to a later offset. It may be the same.
			else if (unmovedTo > tried) {
				tried = unmovedTo;
				continue;
			}
			after = end;
		}
	}

	/** Undefined if the screen is not available or has changed. */
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
