/**
 * Tells which coding agent the process in front of a terminal is: by its own name or its parent's, never by its
 * arguments. An interpreter has the name of its script.
 */

import { readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import type { Inspection } from "../../core/inspect/inspection.ts";
import type { AgentRules } from "./screen-rules/format.ts";

const INTERPRETERS = /^(?:node|nodejs|bun|deno|python[\d.]*)$/;
/** Options of interpreters that run their argument instead of a script. */
const RUNS_ARGUMENT = /^(?:-[ecp]|--eval|--print|-m)$/;
/** Options of interpreters whose value is the next argument. */
const TAKES_VALUE = /^(?:-r|--require|--import|--loader|-C|--conditions|--env-file)$/;

/** The rules of the agent in front; undefined if another program is. */
export async function agentInFront(
	{ pid }: Pick<Inspection, "pid">,
	rules: readonly AgentRules[],
): Promise<AgentRules | undefined> {
	if (pid === null) return undefined;
	const own = await namesOf(pid);
	return named(own.names, rules) ?? (own.parent > 1 ? named((await namesOf(own.parent)).names, rules) : undefined);
}

function named(names: readonly string[], rules: readonly AgentRules[]): AgentRules | undefined {
	return rules.find(({ programs }) => programs.some((program) => names.includes(program)));
}

/** Empty for a process that has ended, or that we may not see. */
async function namesOf(pid: number): Promise<{ readonly names: readonly string[]; readonly parent: number }> {
	const folder = `/proc/${pid}`;
	const [stat, executable, command] = await Promise.all([
		readFile(`${folder}/stat`, "utf8").catch(() => ""),
		readlink(`${folder}/exe`).catch(() => ""),
		readFile(`${folder}/cmdline`, "utf8").catch(() => ""),
	]);
	// The name in parentheses may contain any character.
	const end = stat.lastIndexOf(")");
	const name = stat.slice(stat.indexOf("(") + 1, Math.max(0, end));
	const parent = Number(stat.slice(end + 2).split(" ")[1] ?? 0);
	const file = basename(executable.replace(/ \(deleted\)$/, ""));
	const script = INTERPRETERS.test(file) ? scriptIn(command.split("\0").slice(1)) : "";
	return { names: [name, file, script].filter((one) => one !== ""), parent };
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
