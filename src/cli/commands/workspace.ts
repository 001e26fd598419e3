/** `hawser workspace`: declares workspaces, shows and forgets them. */

import { resolve } from "node:path";
import { Command } from "commander";
import type { WorkspaceLimits, WorkspaceMessage } from "../../client/index.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { facts, print, remark, table } from "../output.ts";
import { bytes, collect, positiveNumber } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type SetFlags = ServerFlags & {
	readonly name?: string;
	readonly root?: readonly string[];
	readonly maxSessions?: number;
	readonly maxJournals?: number;
	readonly startRate?: number;
};

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list workspaces")
	.description("Lists the workspaces that were declared and that you may read.")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser workspace ls\n  hawser workspace ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const workspaces = await client.workspaces.list();
		if (json) return print(`${safeJson(workspaces)}\n`);
		if (workspaces.length === 0) {
			remark("no workspace was declared, or none that you may read");
			return;
		}
		const rows = workspaces.map((one) => [one.id, one.name ?? "-", limitsOf(one), one.roots.join(" ") || "anywhere"]);
		await print(table(["ID", "NAME", "LIMITS", "ROOTS"], rows, process.stdout.columns));
	});

const show = withServer(new Command("show"))
	.summary("show a workspace and its tasks")
	.description("Shows what was declared of a workspace, and its tasks.")
	.argument("<id>", "of the workspace")
	.option("--json", "as JSON, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser workspace show acme\n  hawser workspace show acme --json | jq .limits")
	.action(async (id: string, { json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const workspace = await client.workspaces.get(id);
		const tasks = await client.workspaces.tasks(id).list();
		if (json) return print(`${safeJson({ ...workspace, tasks })}\n`);
		await print(
			facts([
				["id", workspace.id],
				["name", workspace.name],
				["roots", workspace.roots.join(" ") || "anywhere"],
				["limits", limitsOf(workspace)],
				["declared", new Date(workspace.createdAt).toISOString()],
				["tasks", tasks.map((task) => task.id).join(" ") || null],
			]),
		);
	});

const set = withServer(new Command("set"))
	.summary("declare a workspace")
	.description(
		"Declares a workspace, or replaces all that was declared of it but its tasks: what is not said is not limited. " +
			"It takes the operator's token.",
	)
	.argument("<id>", "1 to 64 of A-Z, a-z, 0-9, _ . -")
	.option("--name <name>", "what to call it")
	.option("--root <dir>", "where its programs may start, or below; repeatable (default: anywhere)", collect)
	.option("--max-sessions <number>", "how many may run at a time", positiveNumber)
	.option("--max-journals <size>", "what their journals may take on disk, such as 2GiB", bytes)
	.option("--start-rate <number>", "how many may be started per second", positiveNumber)
	.addHelpText("after", "\nExamples:\n  hawser workspace set acme --root /srv/acme --max-sessions 20")
	.action(async (id: string, flags: SetFlags) => {
		const { client } = await findServer(flags);
		const { name, root = [], maxSessions, maxJournals, startRate } = flags;
		const limits: WorkspaceLimits = {
			...(maxSessions === undefined ? {} : { sessions: maxSessions }),
			...(maxJournals === undefined ? {} : { journalBytes: maxJournals }),
			...(startRate === undefined ? {} : { startsPerSecond: startRate }),
		};
		const roots = root.map((path) => resolve(path));
		const declared = await client.workspaces.put(id, { ...(name === undefined ? {} : { name }), roots, limits });
		for (const warning of declared.warnings ?? []) remark(`a warning: ${warning}`);
	});

const remove = withServer(new Command("rm"))
	.summary("forget a workspace")
	.description(
		"Forgets a workspace, its tasks, and its sessions with everything that was kept of them; tokens for it are over. It " +
			"takes the operator's token.",
	)
	.argument("<id>", "of the workspace")
	.option("-f, --force", "end its sessions that still run")
	.addHelpText("after", "\nExamples:\n  hawser workspace rm acme")
	.action(async (id: string, { force = false, ...flags }: ServerFlags & { force?: boolean }) => {
		const { client } = await findServer(flags);
		await client.workspaces.remove(id, { force });
	});

export const workspace: Command = new Command("workspace")
	.summary("declare, list and forget workspaces")
	.description("Workspaces separate those who share a server: where their programs start, and how many there may be.")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser workspace set acme --root /srv/acme\n  hawser workspace ls\n  hawser workspace rm acme",
	);
for (const part of [list, show, set, remove]) workspace.addCommand(part);

function limitsOf({ limits }: WorkspaceMessage): string {
	return (
		Object.entries(limits)
			.map(([name, limit]) => `${name}=${limit}`)
			.join(" ") || "-"
	);
}
