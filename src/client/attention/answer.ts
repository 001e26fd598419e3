/** Answers a program's prompt, or the dialog of a coding agent, from a list: once, and only if it is still shown. */

import type { AgentMessage, Waiting } from "../../api/types.ts";
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

/** The ID of a choice, or a text. */
export type DialogAnswer = { readonly choice: string } | { readonly text: string };

/** The dialog that the user has read. */
export type OpenDialog = Pick<AgentMessage, "episode">;

/**
 * Answers the dialog of a session's agent. Resolves once the dialog is gone, with whether the agent got the answer: not
 * if the dialog has changed.
 */
export async function answerDialog(session: Session, { episode }: OpenDialog, answer: DialogAnswer): Promise<boolean> {
	try {
		await session.answer({ episode, ...answer });
		return true;
	} catch (error) {
		if (error instanceof HawserError && error.code === "stale") return false;
		throw error;
	}
}
