/** `hawser ls`: the sessions there are. */

import { Command } from "commander";
import type { SessionMessage } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print, remark, table } from "../output.ts";
import { safeJson } from "../safe-text.ts";

type ListFlags = WorkspaceFlags & { readonly all?: true; readonly json?: true; readonly task?: string };

export const list: Command = withWorkspace(new Command("ls"))
	.alias("list")
	.summary("list sessions")
	.description("Lists the sessions whose programs run, oldest first.")
	.option("-a, --all", "those that have ended, too")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser ls\n  hawser ls --all --json | jq -r '.[].id'")
	.option("--task <id>", "only those that were started for this task")
	.action(async ({ all, json, task, workspace, ...flags }: ListFlags) => {
		const { client } = await findServer(flags);
		const sessions = await client.sessions.list({
			...(all ? {} : { state: ["running", "exited"] }),
			...(workspace === undefined ? {} : { workspace }),
			...(task === undefined ? {} : { task }),
		});
		if (json) return print(`${safeJson(sessions)}\n`);
		if (sessions.length === 0) {
			remark(all ? "there are no sessions" : "no session is running; --all shows those that have ended");
			return;
		}
		const now = Date.now();
		const rows = sessions.map((session) => toRow(session, now));
		await print(table(["ID", "NAME", "STATE", "AGE", "COMMAND"], rows, process.stdout.columns));
	});

function toRow(session: SessionMessage, now: number): string[] {
	const age = formatDuration(now - session.createdAt);
	return [session.id, session.name ?? "-", stateOf(session), age, session.argv.join(" ")];
}

/** How it ended is what one wants to know of something that has. */
function stateOf({ state, exit, unreachable }: SessionMessage): string {
	if (unreachable) return `${state} (unreachable)`;
	if (state === "running" || state === "lost" || !exit) return state;
	const how = exit.signal ?? `exit ${exit.code}`;
	return exit.reason === undefined ? how : `${how} (${exit.reason})`;
}
