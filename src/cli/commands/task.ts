/** `hawser task`: manages the tasks of a workspace. */

import { resolve } from "node:path";
import { Command } from "commander";
import type { TasksClient } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { collect, variables } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";

type SetFlags = WorkspaceFlags & {
	readonly workDir: string;
	readonly issueId?: string;
	readonly issueKey?: string;
	readonly priorSession?: string;
	readonly env?: readonly string[];
};

const WHOSE = "workspace of the tasks (default: default)";

const list = withWorkspace(new Command("ls"), WHOSE)
	.alias("list")
	.summary("list tasks")
	.description("Lists the tasks of a workspace, newest first.")
	.option("--json", "print as a JSON array, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser task ls --workspace acme")
	.action(async ({ json, ...flags }: WorkspaceFlags & { json?: true }) => {
		const tasks = await (await tasksOf(flags)).list();
		if (json) return print(`${safeJson(tasks)}\n`);
		if (tasks.length === 0) {
			printNotice("no tasks");
			return;
		}
		const now = Date.now();
		const rows = tasks.map(({ id, issueKey, issueId, createdAt, workDir }) => [
			id,
			issueKey ?? issueId ?? "-",
			formatDuration(now - createdAt),
			workDir,
		]);
		await print(table(["ID", "ISSUE", "AGE", "DIRECTORY"], rows, process.stdout.columns));
	});

const set = withWorkspace(new Command("set"), WHOSE)
	.summary("create or replace a task")
	.description("Creates a task in a workspace, or replaces it. Omitted options are removed.")
	.argument("<id>", "1 to 64 of A-Z, a-z, 0-9, _ . -")
	.requiredOption("--work-dir <dir>", "working directory of its programs")
	.option("--issue-id <id>", "ID of the issue it belongs to")
	.option("--issue-key <key>", "human-readable issue key, such as ABC-123")
	.option("--prior-session <id>", "session ID of the agent that worked on it before")
	.option("-e, --env <K=V>", "set a variable for its programs (K=V), or copy yours (K); repeatable", collect)
	.addHelpText("after", "\nExamples:\n  hawser task set fix-login --workspace acme --work-dir /srv/acme/fix-login")
	.action(async (id: string, flags: SetFlags) => {
		const { workDir, issueId, issueKey, priorSession } = flags;
		const made = await (await tasksOf(flags)).put(id, {
			workDir: resolve(workDir),
			...(issueId === undefined ? {} : { issueId }),
			...(issueKey === undefined ? {} : { issueKey }),
			...(priorSession === undefined ? {} : { priorSessionId: priorSession }),
			env: known(variables(flags.env ?? [], process.env)),
		});
		for (const warning of made.warnings ?? []) printNotice(`warning: ${warning}`);
	});

const remove = withWorkspace(new Command("rm"), WHOSE)
	.summary("delete tasks")
	.description("Deletes tasks of a workspace. Their sessions keep running.")
	.argument("<id...>", "task IDs")
	.addHelpText("after", "\nExamples:\n  hawser task rm fix-login --workspace acme")
	.action(async (ids: string[], flags: WorkspaceFlags) => {
		const tasks = await tasksOf(flags);
		for (const id of ids) await tasks.remove(id);
	});

export const task: Command = new Command("task")
	.summary("manage tasks")
	.description("A task is a unit of work in a workspace. It provides the directory and variables of its sessions.")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser task set fix-login --workspace acme --work-dir /srv/acme/fix-login\n" +
			"  hawser run --workspace acme --task fix-login -- bash -l",
	);
for (const part of [list, set, remove]) task.addCommand(part);

async function tasksOf(flags: WorkspaceFlags): Promise<TasksClient> {
	const { client } = await findServer(flags);
	return client.workspaces.tasks(flags.workspace ?? "default");
}

/** A task has no environment to copy variables from. */
function known(env: Readonly<Record<string, string | null>>): Record<string, string> {
	return Object.fromEntries(
		Object.entries(env).map(([name, value]) => {
			if (value === null) throw new UsageError(`--env: ${name} is not set`);
			return [name, value];
		}),
	);
}
