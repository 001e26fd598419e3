/** `hawser task`: makes tasks of a workspace, lists and forgets them. */

import { resolve } from "node:path";
import { Command } from "commander";
import type { TasksClient } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print, remark, table } from "../output.ts";
import { collect, variables } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type SetFlags = WorkspaceFlags & {
	readonly workDir: string;
	readonly issueId?: string;
	readonly issueKey?: string;
	readonly priorSession?: string;
	readonly env?: readonly string[];
};

const WHOSE = "whose tasks (default: default)";

const list = withWorkspace(new Command("ls"), WHOSE)
	.alias("list")
	.summary("list tasks")
	.description("Lists the tasks of a workspace, newest first.")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser task ls --workspace acme")
	.action(async ({ json, ...flags }: WorkspaceFlags & { json?: true }) => {
		const tasks = await (await tasksOf(flags)).list();
		if (json) return print(`${safeJson(tasks)}\n`);
		if (tasks.length === 0) {
			remark("there are no tasks");
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
	.summary("make a task")
	.description("Makes a task of a workspace, or replaces it: what is not said is left out.")
	.argument("<id>", "1 to 64 of A-Z, a-z, 0-9, _ . -")
	.requiredOption("--work-dir <dir>", "where its programs start")
	.option("--issue-id <id>", "what it is done for")
	.option("--issue-key <key>", "the same, as people know it")
	.option("--prior-session <id>", "of the agent that worked on it before")
	.option("-e, --env <K=V>", "a variable for its programs, or K alone for its value here; repeatable", collect)
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
		for (const warning of made.warnings ?? []) remark(`a warning: ${warning}`);
	});

const remove = withWorkspace(new Command("rm"), WHOSE)
	.summary("forget tasks")
	.description("Forgets tasks of a workspace; sessions that were started for them go on.")
	.argument("<id...>", "of the tasks")
	.addHelpText("after", "\nExamples:\n  hawser task rm fix-login --workspace acme")
	.action(async (ids: string[], flags: WorkspaceFlags) => {
		const tasks = await tasksOf(flags);
		for (const id of ids) await tasks.remove(id);
	});

export const task: Command = new Command("task")
	.summary("make, list and forget tasks")
	.description("A task is a piece of work in a workspace, with a directory and variables for its sessions.")
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

/** A task has no environment to take a variable from. */
function known(env: Readonly<Record<string, string | null>>): Record<string, string> {
	return Object.fromEntries(
		Object.entries(env).map(([name, value]) => {
			if (value === null) throw new UsageError(`--env: there is no ${name} here`);
			return [name, value];
		}),
	);
}
