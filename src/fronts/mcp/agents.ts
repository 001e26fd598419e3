/** Answers to the dialogs of coding agents, and prompts for them. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import { AgentTyping } from "../../services/agents/agent-typing.ts";
import { answerAgent } from "../../services/agents/answer.ts";
import { promptAgent } from "../../services/agents/prompt.ts";
import type { Call } from "./call.ts";

export type AgentInput = {
	readonly text?: string;
	/** The number of the dialog that is answered. */
	readonly dialog?: number;
	/** The number of a choice. */
	readonly choice?: string;
	/** The text is a prompt. */
	readonly submit?: boolean;
};

/** Resolves once the dialog is gone, or the prompt was seen submitted. */
export async function sendToAgent(
	{ id }: Session,
	{ text, dialog, choice, submit }: AgentInput,
	{ options, witness, signal }: Call,
): Promise<void> {
	const { agents, sessions } = options;
	const session = sessions.get(id);
	if (!agents || !session) throw new SessionError("unsupported", "this server knows no agents");
	const view = agents.view(session);
	const audited = (one: Session) => witness.session(one);
	const typing = new AgentTyping({ session, view, audited, fence: undefined, signal });
	if (submit) {
		if (text === undefined || dialog !== undefined || choice !== undefined)
			throw new SessionError("invalid_argument", "submit: needs text, and neither dialog nor choice");
		return agents.inTurn(session, () => promptAgent(typing, text));
	}
	if (dialog === undefined) {
		throw new SessionError("invalid_argument", "dialog: is required for a choice", {
			hint: "the first line of an answer names it: blocked by dialog N",
		});
	}
	const answer = {
		episode: dialog,
		...(choice === undefined ? {} : { choice }),
		...(text === undefined ? {} : { text }),
	};
	return agents.inTurn(session, () => answerAgent(typing, answer));
}
