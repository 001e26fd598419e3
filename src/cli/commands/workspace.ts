/** `hawser workspace`: manages workspaces. */

import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { RequiredSandbox, WorkspaceLimits, WorkspaceMessage } from "../../client/index.ts";
import { bytes, collect, positiveNumber } from "../args/values.ts";
import { findServer, type ServerFlags, withServer } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { keyValueList, print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { sandboxTypes } from "../sandbox-names.ts";

/** Full access is not a requirement, so it is left out. */
const { "danger-full-access": _, ...requiredTypes } = sandboxTypes;

type SetFlags = ServerFlags & {
	readonly name?: string;
	readonly root?: readonly string[];
	readonly maxSessions?: number;
	readonly maxJournals?: number;
	readonly startRate?: number;
	readonly sandbox?: keyof typeof requiredTypes;
	readonly sandboxRoot?: readonly string[];
	readonly network?: boolean;
};

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list workspaces")
	.description("Lists the declared workspaces that you may read.")
	.option("--json", "print as a JSON array, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser workspace ls\n  hawser workspace ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const workspaces = await client.workspaces.list();
		if (json) return print(`${safeJson(workspaces)}\n`);
		if (workspaces.length === 0) {
			printNotice("no workspaces that you may read");
			return;
		}
		const rows = workspaces.map((one) => [
			one.id,
			one.name ?? "-",
			limitsOf(one),
			one.sandbox?.type ?? "-",
			one.roots.join(" ") || "anywhere",
		]);
		await print(table(["ID", "NAME", "LIMITS", "SANDBOX", "ROOTS"], rows, process.stdout.columns));
	});

const show = withServer(new Command("show"))
	.summary("show a workspace and its tasks")
	.description("Shows a workspace's settings and tasks.")
	.argument("<id>", "workspace ID")
	.option("--json", "print as JSON, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser workspace show acme\n  hawser workspace show acme --json | jq .limits")
	.action(async (id: string, { json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const workspace = await client.workspaces.get(id);
		const tasks = await client.workspaces.tasks(id).list();
		if (json) return print(`${safeJson({ ...workspace, tasks })}\n`);
		await print(
			keyValueList([
				["id", workspace.id],
				["name", workspace.name],
				["roots", workspace.roots.join(" ") || "anywhere"],
				["limits", limitsOf(workspace)],
				["sandbox", workspace.sandbox && sandboxOf(workspace.sandbox)],
				["declared", new Date(workspace.createdAt).toISOString()],
				["tasks", tasks.map((task) => task.id).join(" ") || null],
			]),
		);
	});

const set = withServer(new Command("set"))
	.summary("create or replace a workspace")
	.description(
		"Creates a workspace, or replaces its settings; tasks are kept. Omitted limits are removed. " +
			"With --sandbox, every program in it runs under that policy or a stricter one, or is refused. " +
			"Requires the operator's token.",
	)
	.argument("<id>", "1 to 64 of A-Z, a-z, 0-9, _ . -")
	.option("--name <name>", "display name")
	.option("--root <dir>", "directory in or below which programs must start; repeatable (default: any)", collect)
	.option("--max-sessions <number>", "maximum running sessions", positiveNumber)
	.option("--max-journals <size>", "disk space for journals, such as 2GiB", bytes)
	.option("--start-rate <number>", "session starts per second", positiveNumber)
	.addOption(
		new Option("--sandbox <policy>", "strictest required policy: programs write nothing, or only the roots").choices(
			Object.keys(requiredTypes),
		),
	)
	.option("--sandbox-root <dir>", "with workspace-write: writable directory instead of the roots; repeatable", collect)
	.option("--network", "with --sandbox: allow network access")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser workspace set acme --root /srv/acme --max-sessions 20\n" +
			"  hawser workspace set acme --root /srv/acme --sandbox workspace-write",
	)
	.action(async (id: string, flags: SetFlags) => {
		const { client } = await findServer(flags);
		const { name, root = [], maxSessions, maxJournals, startRate } = flags;
		const limits: WorkspaceLimits = {
			...(maxSessions === undefined ? {} : { sessions: maxSessions }),
			...(maxJournals === undefined ? {} : { journalBytes: maxJournals }),
			...(startRate === undefined ? {} : { startsPerSecond: startRate }),
		};
		const roots = root.map((path) => resolve(path));
		const sandbox = requiredOf(flags);
		const declared = await client.workspaces.put(id, {
			...(name === undefined ? {} : { name }),
			roots,
			limits,
			...(sandbox === undefined ? {} : { sandbox }),
		});
		for (const warning of declared.warnings ?? []) printNotice(`warning: ${warning}`);
	});

const remove = withServer(new Command("rm"))
	.summary("delete a workspace")
	.description(
		"Deletes a workspace, its tasks and its sessions, and revokes its tokens. Requires the operator's token.",
	)
	.argument("<id>", "workspace ID")
	.option("-f, --force", "kill running sessions first")
	.addHelpText("after", "\nExamples:\n  hawser workspace rm acme")
	.action(async (id: string, { force = false, ...flags }: ServerFlags & { force?: boolean }) => {
		const { client } = await findServer(flags);
		await client.workspaces.remove(id, { force });
	});

export const workspace: Command = new Command("workspace")
	.summary("manage workspaces")
	.description("Workspaces separate the users of a shared server: where their programs start, and how many may run.")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser workspace set acme --root /srv/acme\n  hawser workspace ls\n  hawser workspace rm acme",
	);
for (const part of [list, show, set, remove]) workspace.addCommand(part);

function requiredOf({ sandbox, sandboxRoot = [], network = false }: SetFlags): RequiredSandbox | undefined {
	if (sandboxRoot.length > 0 && sandbox !== "workspace-write")
		throw new UsageError("--sandbox-root needs --sandbox workspace-write");
	if (sandbox === undefined) {
		if (network) throw new UsageError("--network needs --sandbox read-only or workspace-write");
		return undefined;
	}
	const networkAccess = network;
	if (sandbox === "read-only" || sandboxRoot.length === 0) return { type: requiredTypes[sandbox], networkAccess };
	return { type: "workspaceWrite", networkAccess, writableRoots: sandboxRoot.map((path) => resolve(path)) };
}

/** The policy on one line. */
function sandboxOf(sandbox: RequiredSandbox): string {
	const network = sandbox.networkAccess ? "with network" : "without network";
	const writable = sandbox.type === "workspaceWrite" ? ` ${(sandbox.writableRoots ?? []).join(" ")}` : "";
	return `${sandbox.type}${writable}, ${network}`;
}

function limitsOf({ limits }: WorkspaceMessage): string {
	return (
		Object.entries(limits)
			.map(([name, limit]) => `${name}=${limit}`)
			.join(" ") || "-"
	);
}
