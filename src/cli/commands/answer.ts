/** `hawser answer`: answers the dialog of a coding agent. */

import { Command } from "commander";
import type { AgentMessage } from "../../client/index.ts";
import { withApprovalNotice } from "../connect/approval-notice.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";
import { displayName } from "../print/session-text.ts";

type AnswerFlags = WorkspaceFlags & { readonly text?: string; readonly json?: true };

export const answer: Command = withWorkspace(new Command("answer"))
	.summary("answer the dialog of a coding agent")
	.description(
		"Answers the dialog that a session's coding agent shows: a permission, a question, or whether to trust a directory. " +
			"Without a choice it prints the dialog. It returns once the dialog is gone.",
	)
	.argument("<session>", "session ID, name or prefix")
	.argument("[choice]", "number of the choice, or prefix of its label")
	.option("--text <text>", "answer with a text, if the dialog accepts one", String)
	.option("--json", "print the dialog as JSON")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser answer fix-tests\n  hawser answer fix-tests 1\n  hawser answer fix-tests no\n  hawser answer fix-tests --text 'use DuckDB'",
	)
	.action(async (wanted: string, choice: string | undefined, { text, json, ...flags }: AnswerFlags) => {
		if (choice !== undefined && text !== undefined) throw new UsageError("a choice and --text cannot be used together");
		const { client } = await findServer(flags);
		const info = await findSession(client, wanted, flags);
		const session = client.sessions.at(info.id);
		const { agent } = await session.inspect();
		if (agent?.state !== "blocked") throw new UsageError(`${displayName(info)} shows no dialog of a coding agent`);
		if (choice === undefined && text === undefined) {
			return print(json ? `${safeJson(agent)}\n` : dialogText(agent));
		}
		const { episode } = agent;
		const given = text === undefined ? { episode, choice: choiceId(agent, choice ?? "") } : { episode, text };
		await withApprovalNotice(client, info.id, session.answer(given));
	});

/** The ID of a choice, by number or by prefix of its label. The server checks anything else. */
function choiceId({ choices }: AgentMessage, wanted: string): string {
	if (choices.some(({ id }) => id === wanted)) return wanted;
	const found = choices.filter(({ label }) => label.toLowerCase().startsWith(wanted.toLowerCase()));
	const [only] = found;
	const exact = found.find(({ label }) => label.toLowerCase() === wanted.toLowerCase());
	if (found.length > 1 && !exact) throw new UsageError(`several choices start with ${JSON.stringify(wanted)}`);
	return (exact ?? only)?.id ?? wanted;
}

function dialogText({ kind, question, details, choices }: AgentMessage): string {
	const lines = [
		...(question === null ? [kind ?? "a dialog"] : [question]),
		...(details ?? "").split("\n").map((line) => `  ${line}`),
		...choices.map(({ id, label, takesText }) => `${id}. ${label}${takesText ? " (--text)" : ""}`),
	];
	return `${lines
		.map((line) => safeLine(line).trimEnd())
		.filter((line) => line !== "")
		.join("\n")}\n`;
}
