/** `hawser ls`: the sessions there are. */

import { homedir } from "node:os";
import { Command } from "commander";
import { type SessionMessage, typedLine } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { stateOf } from "../describe-session.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print, remark, table } from "../output.ts";
import { collect } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type ListFlags = WorkspaceFlags & {
	readonly all?: true;
	readonly json?: true;
	readonly task?: string;
	readonly label?: readonly string[];
};

export const list: Command = withWorkspace(new Command("ls"))
	.alias("list")
	.summary("list sessions")
	.description(
		"Lists the sessions whose programs run, oldest first: how long nothing has come or gone (IDLE), how many are " +
			"attached (ATTACHED), the size of the terminal, where it was started and what; and the workspace, if there are several.",
	)
	.option("-a, --all", "those that have ended, too")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser ls\n  hawser ls --label kind=ci\n  hawser ls --all --json | jq -r '.[].id'",
	)
	.option("-l, --label <key[=value]>", "only those with this label; repeatable", collect)
	.option("--task <id>", "only those that were started for this task")
	.action(async ({ all, json, task, workspace, label, ...flags }: ListFlags) => {
		const { client } = await findServer(flags);
		const sessions = await client.sessions.list({
			...(all ? {} : { state: ["running", "exited"] }),
			...(workspace === undefined ? {} : { workspace }),
			...(task === undefined ? {} : { task }),
			...(label === undefined ? {} : { label }),
		});
		if (json) return print(`${safeJson(sessions)}\n`);
		if (sessions.length === 0) {
			remark(all ? "there are no sessions" : "no session is running; --all shows those that have ended");
			return;
		}
		const now = Date.now();
		const isOneWorkspace = new Set(sessions.map((session) => session.workspace)).size === 1;
		const rows = sessions.map((session) => toRow(session, now, isOneWorkspace ? [] : [session.workspace]));
		const names = ["NAME", ...(isOneWorkspace ? [] : ["WORKSPACE"])];
		await print(
			table(
				["ID", ...names, "STATE", "AGE", "IDLE", "ATTACHED", "SIZE", "DIRECTORY", "COMMAND"],
				rows,
				process.stdout.columns,
			),
		);
	});

function toRow(session: SessionMessage, now: number, workspace: readonly string[]): string[] {
	const { id, name, createdAt, activeAt, attachments, mode, size, cwd, argv } = session;
	return [
		id,
		name ?? "-",
		...workspace,
		stateOf(session),
		formatDuration(now - createdAt),
		activeAt === null || session.state !== "running" ? "-" : formatDuration(now - activeAt),
		String(attachments),
		mode === "pty" ? `${size.cols}x${size.rows}` : "-",
		fromHome(cwd),
		typedLine(argv),
	];
}

function fromHome(path: string): string {
	const home = homedir();
	return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
