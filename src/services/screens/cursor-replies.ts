/** Answers cursor position queries of programs while no attached terminal does. Sessions answer all other queries themselves. */

import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { CursorQuery } from "../../core/terminal/replies.ts";
import { RunningTerminals } from "./running-terminals.ts";

type Screens = Pick<ScreenReader, "read">;

type CursorRepliesOptions = {
	readonly sessions: Sessions;
	readonly screens: Screens;
	readonly clock: Clock;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export function answerCursorQueries({ sessions, screens, clock, report }: CursorRepliesOptions): RunningTerminals {
	return new RunningTerminals({
		sessions,
		clock,
		report,
		attend: (session, signal) => answer(session, screens, signal),
	});
}

async function answer(session: Session, screens: Screens, signal: AbortSignal): Promise<void> {
	if (session.spec.answersQueries !== true) return;
	for (let after = 0, tried = 0; ; ) {
		const query = await session.ask<"untilCursorAsked">({ do: "untilCursorAsked", after }, signal);
		if (!query || signal.aborted) return;
		const { end, unmovedTo = end } = query;
		const text = await replyTo(session, screens, query, signal);
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
async function replyTo(
	session: Session,
	screens: Screens,
	{ end, isExtended, unmovedTo = end }: CursorQuery,
	signal: AbortSignal,
): Promise<string | undefined> {
	try {
		const { offset, cursor, firstRow } = await screens.read(session, { signal });
		if (offset < end || offset > unmovedTo) return undefined;
		return `\u001b[${isExtended ? "?" : ""}${cursor.row - firstRow + 1};${cursor.col + 1}R`;
	} catch (error) {
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}
