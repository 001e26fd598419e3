/** Answers a program's prompt from a list: once, and only if the program still shows it. */

import type { Waiting } from "../../api/types.ts";
import { HawserError } from "../errors.ts";
import type { Session } from "../session.ts";
import type { SessionInfo } from "./needs.ts";

/** The session, and in `waiting` the prompt that the user has read. */
export type PendingPrompt = {
	readonly mode: SessionInfo["mode"];
	readonly waiting: Pick<Waiting, "kind" | "offset" | "episode">;
};

/**
 * Resolves with whether the program got the answer: not if the prompt has changed. Secrets are sent without echo or
 * logging.
 */
export async function answerPrompt(session: Session, { mode, waiting }: PendingPrompt, text: string): Promise<boolean> {
	const { kind, offset, episode } = waiting;
	try {
		if (kind === "secret") await session.secret(text, { ifWaiting: offset, episode });
		else await session.write(answerInput(text, mode, kind), { ifWaiting: offset, untilWritten: true });
		return true;
	} catch (error) {
		if (error instanceof HawserError && error.code === "not_waiting") return false;
		throw error;
	}
}

/** Encodes an answer: a key as it is, a line with the line ending of its terminal or pipe. */
export function answerInput(text: string, mode: SessionInfo["mode"], kind: Waiting["kind"]): string {
	if (kind === "key" || kind === "tui") return text;
	return `${text}${mode === "pty" ? "\r" : "\n"}`;
}
