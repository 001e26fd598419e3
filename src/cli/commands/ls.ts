/** `hawser ls`: lists sessions. */

import { homedir } from "node:os";
import { Command } from "commander";
import { commandText, type Overview, type SessionMessage } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { collect } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { sessionStateText } from "../print/session-text.ts";

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
		"Lists running sessions, oldest first, with idle time, attached clients, terminal size, directory and " +
			"command. Shows the workspace if there is more than one.",
	)
	.option("-a, --all", "include ended sessions")
	.option("--json", "print as a JSON array, with all fields")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser ls\n  hawser ls --label kind=ci\n  hawser ls --all --json | jq -r '.[].id'",
	)
	.option("-l, --label <key[=value]>", "only sessions with this label; repeatable", collect)
	.option("--task <id>", "only sessions of this task")
	.action(async ({ all, json, task, workspace, label, ...flags }: ListFlags) => {
		const { client } = await findServer(flags);
		const sessions = await client.sessions.list({
			...(all ? {} : { state: ["running", "exited"] }),
			...(workspace === undefined ? {} : { workspace }),
			...(task === undefined ? {} : { task }),
			...(label === undefined ? {} : { label }),
			overview: true,
		});
		if (json) return print(`${safeJson(sessions.map(withAgent))}\n`);
		if (sessions.length === 0) {
			printNotice(all ? "no sessions" : "no running sessions; use --all to include ended ones");
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

/** The agent has a place of its own: scripts look for it first. */
function withAgent(session: SessionMessage): SessionMessage & Pick<Overview, "agent"> {
	return { ...session, agent: session.overview?.agent ?? null };
}

/** The state of an agent says more than that its program runs. */
function stateText(session: SessionMessage): string {
	const { agent } = session.overview ?? {};
	if (!agent) return sessionStateText(session);
	return agent.state === "blocked" && agent.kind !== null ? `blocked (${agent.kind})` : agent.state;
}

function toRow(session: SessionMessage, now: number, workspace: readonly string[]): string[] {
	const { id, name, createdAt, activeAt, attachments, mode, size, cwd, argv } = session;
	return [
		id,
		name ?? "-",
		...workspace,
		stateText(session),
		formatDuration(now - createdAt),
		activeAt === null || session.state !== "running" ? "-" : formatDuration(now - activeAt),
		String(attachments),
		mode === "pty" ? `${size.cols}x${size.rows}` : "-",
		fromHome(cwd),
		commandText(argv),
	];
}

function fromHome(path: string): string {
	const home = homedir();
	return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
