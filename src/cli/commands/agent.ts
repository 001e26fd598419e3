/** `hawser agent`: installs hooks by which coding agents report their state. */

import { createInterface } from "node:readline/promises";
import { Argument, Command } from "commander";
import { type AgentName, agentNames, hookedAgent } from "../agent-hooks/agents.ts";
import { type Change, type InstallState, installState, planInstall, planRemove } from "../agent-hooks/installation.ts";
import { lineDiff } from "../agent-hooks/line-diff.ts";
import { toUserError, UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";

type ChangeFlags = { readonly yes?: true; readonly dryRun?: true };

const nameArgument = () => new Argument("<name>", "agent").choices(agentNames);

const install = withChangeFlags(new Command("install"))
	.summary("install the hooks of an agent")
	.description(
		"Adds hooks to an agent's configuration, by which it reports its state to the session that it runs in. Outside of " +
			"sessions they do nothing. Shows the change and asks before it writes. Your own entries and comments stay, and " +
			"the file is kept beside it with the ending .before-hawser.\n\nHooks report; they never decide for the agent.",
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser agent install claude\n  hawser agent install gemini --dry-run\n  hawser agent install codex --yes",
	)
	.action(async (name: AgentName, flags: ChangeFlags) => {
		const agent = hookedAgent(name);
		const change = await planInstall(agent);
		if (!change) return printNotice(`the hooks of ${name} are installed in ${agent.target}`);
		if (!(await carryOut(change, flags))) return;
		printNotice(`installed the hooks of ${name} in ${change.path}`);
		if (change.backup !== undefined) printNotice(`the previous file is ${change.backup}`);
		printNotice(agent.note ?? `they take effect when ${name} starts again`);
	});

const remove = withChangeFlags(new Command("remove"))
	.summary("remove the hooks of an agent")
	.description(
		"Undoes hawser agent install: the file is as it was before, except for what was changed since. Shows the change " +
			"and asks before it writes.",
	)
	.addHelpText("after", "\nExamples:\n  hawser agent remove claude\n  hawser agent remove copilot --yes")
	.action(async (name: AgentName, flags: ChangeFlags) => {
		const agent = hookedAgent(name);
		const change = await planRemove(agent);
		if (!change) return printNotice(`no hooks of hawser are installed for ${name}`);
		if (await carryOut(change, flags)) printNotice(`removed the hooks of ${name} from ${change.path}`);
	});

const list = new Command("list")
	.summary("list agents and where their hooks are installed")
	.description(
		"Lists the known agents, and whether their hooks are installed. `outdated` are those of another version.",
	)
	.option("--json", "print as a JSON array")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser agent list\n  hawser agent list --json | jq '.[] | select(.state != \"absent\")'",
	)
	.action(async ({ json }: { json?: true }) => {
		const rows = await Promise.all(
			agentNames.map(async (name) => {
				const agent = hookedAgent(name);
				return { name, ...(await readState(agent)), file: agent.target };
			}),
		);
		const cells = rows.map(({ name, state, problem, file }) => [name, problem ?? state, safeLine(file)]);
		await print(json ? `${safeJson(rows)}\n` : table(["AGENT", "HOOKS", "FILE"], cells));
	});

export const agent: Command = new Command("agent")
	.summary("install hooks by which coding agents report their state")
	.description(
		"Hawser knows the state of coding agents by what they show and report. Hooks make it surer and faster. They are " +
			"optional, and installed only here. To pass them for one session without changing any file: " +
			"hawser run --agent NAME.",
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser agent install claude\n  hawser agent list\n  hawser agent remove claude\n  hawser run --agent codex",
	);
for (const part of [install, remove, list]) agent.addCommand(part);

function withChangeFlags(command: Command): Command {
	return command
		.addArgument(nameArgument())
		.option("-y, --yes", "write without asking")
		.option("--dry-run", "only show the change");
}

/** A file that can't be read or understood is reported in the list. */
async function readState(
	agent: ReturnType<typeof hookedAgent>,
): Promise<{ readonly state: InstallState | "unknown"; readonly problem?: string }> {
	try {
		return { state: await installState(agent) };
	} catch (error) {
		const explained = toUserError(error);
		if (!explained) throw error;
		return { state: "unknown", problem: explained.message };
	}
}

/** False if the user refused it, or wanted to see it only. */
async function carryOut(change: Change, { yes, dryRun }: ChangeFlags): Promise<boolean> {
	await print(`${safeLine(change.path)}${change.after === undefined ? " (removed)" : ""}\n`);
	const lines = lineDiff(change.before, change.after ?? "").split("\n");
	await print(lines.map((line) => safeLine(line.replaceAll("\t", "    "))).join("\n"));
	if (dryRun) return false;
	if (!yes && !(await confirm())) throw new UsageError("nothing was written");
	await change.apply();
	return true;
}

async function confirm(): Promise<boolean> {
	if (!process.stdin.isTTY) throw new UsageError("nothing was written: confirm with --yes");
	const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
	lines.on("SIGINT", () => process.exit(130));
	try {
		return /^y(es)?$/i.test((await lines.question("Write it? [y/N] ")).trim());
	} finally {
		lines.close();
	}
}
