/** Answers what a program asks, from a list: once, and only if it still asks the same. */

import type { Waiting } from "../protocol/messages.ts";
import type { Listed } from "./attention.ts";
import { HawserError } from "./error.ts";
import type { Session } from "./session.ts";

/** Who is asked, and what: `waiting` is the question that somebody has read. */
export type Question = {
	readonly mode: Listed["mode"];
	readonly waiting: Pick<Waiting, "kind" | "offset" | "episode">;
};

/** Whether the program got it: not if it asks something else by now, or nothing. A secret goes where nobody sees it. */
export async function giveAnswer(session: Session, { mode, waiting }: Question, text: string): Promise<boolean> {
	const { kind, offset, episode } = waiting;
	try {
		if (kind === "secret") await session.secret(text, { ifWaiting: offset, episode });
		else await session.write(typed(text, mode, kind), { ifWaiting: offset, untilWritten: true });
		return true;
	} catch (error) {
		if (error instanceof HawserError && error.code === "not_waiting") return false;
		throw error;
	}
}

/** A key is pressed as it is; a line is ended as its terminal, or its pipe, has it. */
export function typed(text: string, mode: Listed["mode"], kind: Waiting["kind"]): string {
	if (kind === "key" || kind === "tui") return text;
	return `${text}${mode === "pty" ? "\r" : "\n"}`;
}
