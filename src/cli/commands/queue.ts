/** `hawser queue`: prompts that wait until a coding agent is idle. */

import { Command } from "commander";
import { formatDuration } from "../../words/units.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { print } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";

type QueueFlags = WorkspaceFlags & { readonly cancel?: string; readonly json?: true };

export const queue: Command = withWorkspace(new Command("queue"))
	.summary("list or cancel queued prompts of a coding agent")
	.description(
		"Lists the prompts that wait until a session's coding agent is idle, oldest first. send --submit --queue adds one.",
	)
	.argument("<session>", "session ID, name or prefix")
	.option("--cancel <id>", "remove this prompt", String)
	.option("--json", "print the prompts as JSON")
	.addHelpText("after", "\nExamples:\n  hawser queue fix-tests\n  hawser queue fix-tests --cancel p_3f09c2a1b7de")
	.action(async (wanted: string, { cancel, json, ...flags }: QueueFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		const session = client.sessions.at(id);
		if (cancel !== undefined) return session.cancelPrompt(cancel);
		const prompts = await session.prompts();
		if (json) return print(`${safeJson(prompts)}\n`);
		for (const prompt of prompts) {
			const age = formatDuration(Math.max(0, Date.now() - prompt.queuedAt));
			await print(`${safeLine(`${prompt.id}  ${prompt.by}  ${age}  ${prompt.text}`)}\n`);
		}
	});
