/**
 * Tells which coding agent the process in front of a terminal belongs to: by its own name, its parent's, or one above in
 * its process group, never by its arguments. In the same way it tells which agent runs a hook. An interpreter has the
 * name of its script.
 */

import { readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import type { Session } from "../../core/session/session.ts";
import type { AgentRules } from "./screen-rules/format.ts";

const INTERPRETERS = /^(?:node|nodejs|bun|deno|python[\d.]*)$/;
/** Options of interpreters that run their argument instead of a script. */
const RUNS_ARGUMENT = /^(?:-[ecp]|--eval|--print|-m)$/;
/** Options of interpreters whose value is the next argument. */
const TAKES_VALUE = /^(?:-r|--require|--import|--loader|-C|--conditions|--env-file)$/;

/** Looks for the process in front before giving up: agents run programs that end at once. */
const LOOKS = 3;
/** Processes between the one in front and its agent, such as the shells of a tool. */
const MAX_LEVELS = 8;

/** The rules of the agent in front; undefined if another program is. */
export async function agentInFront(
	session: Pick<Session, "inspect" | "signals">,
	rules: readonly AgentRules[],
): Promise<AgentRules | undefined> {
	for (let looks = 1; ; looks++) {
		const pid = await pidInFront(session);
		if (pid === null) return undefined;
		const front = await processOf(pid);
		if (front) return agentAt(front, rules);
		if (looks >= LOOKS) return undefined;
	}
}

/** Some agents run tools in terminals of their own, where an inspection finds the tool. */
async function pidInFront(session: Pick<Session, "inspect" | "signals">): Promise<number | null> {
	const { pid, isInner } = await session.inspect();
	return isInner ? (await session.signals()).foreground : pid;
}

/** Goes up to the parent, and on within the process group: an agent's tools run in the group of the agent. */
async function agentAt(front: FrontProcess, rules: readonly AgentRules[]): Promise<AgentRules | undefined> {
	let one: FrontProcess | undefined = front;
	for (let level = 0; one && level < MAX_LEVELS; level++) {
		const found = named(one.names, rules);
		if (found) return found;
		if (one.group !== front.group) return undefined;
		one = one.parent > 1 ? await processOf(one.parent) : undefined;
	}
	return undefined;
}

/** Processes between an agent and its hook. */
const HOOK_RUNNERS = /^(?:report|env|timeout|nice|busybox|(?:ba|da|z|fi|k|a)?sh)$/;

export type HookAgent<Process> = {
	readonly app: string;
	readonly process: Process;
	/** Another agent has started it. */
	readonly isBelowAnother: boolean;
};

/**
 * The agent that runs a hook, by the hook's process and those above it, nearest first: one with rules, or one with the
 * name that the hook claims. Otherwise the nearest process that is neither a shell nor an interpreter.
 */
export async function agentAbove<Process extends { readonly pid: number }>(
	processes: readonly Process[],
	rules: readonly AgentRules[],
	claim: string | undefined,
): Promise<HookAgent<Process> | undefined> {
	const known = await Promise.all(
		processes.map(async (process) => ({ process, names: (await processOf(process.pid))?.names ?? [] })),
	);
	const agents = known.map(({ names }) => {
		return named(names, rules)?.agent ?? (claim !== undefined && names.includes(claim) ? claim : undefined);
	});
	const nearest = agents.findIndex((agent) => agent !== undefined);
	const other = known.findIndex(({ names }) => !names.some((name) => HOOK_RUNNERS.test(name)) && !isInterpreter(names));
	const found = known[nearest < 0 ? other : nearest];
	const app = agents[nearest] ?? found?.names.at(-1);
	if (!found || app === undefined) return undefined;
	const isBelowAnother = agents.some((agent) => agent !== undefined && agent !== app);
	return { app, process: found.process, isBelowAnother };
}

/** An interpreter that runs a script has the script's name too. */
function isInterpreter(names: readonly string[]): boolean {
	return names.every((name) => INTERPRETERS.test(name));
}

function named(names: readonly string[], rules: readonly AgentRules[]): AgentRules | undefined {
	return rules.find(({ programs }) => programs.some((program) => names.includes(program)));
}

type FrontProcess = { readonly names: readonly string[]; readonly parent: number; readonly group: number };

/** Undefined for a process that has ended. If we may not see it, only its own name is known. */
async function processOf(pid: number): Promise<FrontProcess | undefined> {
	const folder = `/proc/${pid}`;
	const [stat, executable, command] = await Promise.all([
		readFile(`${folder}/stat`, "utf8").catch(() => ""),
		readlink(`${folder}/exe`).catch(() => ""),
		readFile(`${folder}/cmdline`, "utf8").catch(() => ""),
	]);
	if (stat === "") return undefined;
	// The name in parentheses may contain any character.
	const end = stat.lastIndexOf(")");
	const name = stat.slice(stat.indexOf("(") + 1, end);
	const [, parent, group] = stat
		.slice(end + 2)
		.split(" ")
		.map(Number);
	const file = basename(executable.replace(/ \(deleted\)$/, ""));
	const script = INTERPRETERS.test(file) ? scriptIn(command.split("\0").slice(1)) : "";
	return { names: [name, file, script].filter((one) => one !== ""), parent: parent ?? 0, group: group ?? 0 };
}

/** The name of the script that an interpreter runs, without its ending. */
export function scriptIn(args: readonly string[]): string {
	for (let index = 0; index < args.length; index++) {
		const arg = args[index] ?? "";
		if (RUNS_ARGUMENT.test(arg)) return "";
		if (TAKES_VALUE.test(arg)) index++;
		else if (!arg.startsWith("-")) return basename(arg).replace(/\.[cm]?[jt]s$|\.py$/, "");
	}
	return "";
}
