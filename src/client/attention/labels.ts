/** Short labels for lists: commands, exits, callers, coding agents. */

import type { AgentChild, AgentMessage, SessionMessage } from "../../api/types.ts";
import { commandLine } from "../../words/command-line.ts";
import { showUnseen } from "../../words/printable.ts";

/** The command as a user would type it; pasting it into a shell runs the same command. */
export function commandText(argv: readonly string[]): string {
	// Show the line of `sh -c` as it was typed.
	const [shell, flag, line, ...more] = argv;
	if (shell === "/bin/sh" && flag === "-c" && line !== undefined && more.length === 0) return line;
	return commandLine(argv);
}

/** For a table cell: "exit 0", "killed", "timed out". */
export function endLabel({ state, exit }: Pick<SessionMessage, "state" | "exit">): string {
	if (state === "lost") return "lost";
	if (!exit) return "ended";
	if (exit.reason === "killed") return "killed";
	if (exit.reason === "timeout") return "timed out";
	if (exit.reason === "idle") return "idle timeout";
	if (exit.reason === "oom") return "out of memory";
	return exit.signal ?? `exit ${exit.code}`;
}

/** The label of a failed session. */
export function failureLabel({ exit }: Pick<SessionMessage, "exit">): string {
	if (exit?.reason === "oom") return "out of memory";
	return exit?.signal ? `killed by ${exit.signal}` : `failed (exit ${exit?.code})`;
}

/** A caller's display name: `admin`, or the name of the token. */
export function callerName(caller: string | null): string {
	const [name = ""] = (caller ?? "unknown").split("#");
	const [kind, id, ...rest] = name.split(":");
	return showUnseen(kind === "token" ? rest.join(":") || `token ${id}` : name);
}

/** A one-line summary for users who don't watch the list. */
export function needSummary(count: number, name: string, word: string): string {
	return count === 1 ? `${name} ${word}` : `${count} sessions need you, first ${name} (${word})`;
}

/** The state of a coding agent: "working 40 %", "asks permission". */
export function agentLabel({ state, kind, progress }: Pick<AgentMessage, "state" | "kind" | "progress">): string {
	if (state === "working" && progress !== null) return `working ${progress} %`;
	if (state !== "blocked") return state;
	if (kind === "login") return "needs a sign-in";
	if (kind === "trust") return "asks for trust";
	return kind === "permission" ? "asks permission" : "asks";
}

/** Describes the work of a coding agent: its own words, else the last row of its screen. */
export function agentText({
	agent,
	lastLine,
}: {
	readonly agent: AgentMessage;
	readonly lastLine: string | null;
}): string {
	const { title, details, question, children } = agent;
	const said = question ?? details ?? title ?? lastLine ?? "";
	const firstLine = said.trim().split("\n")[0] ?? "";
	return [childrenLabel(children), firstLine].filter((text) => text !== "").join(" · ");
}

/** "2 subagents, 1 blocked"; empty without any that count. */
export function childrenLabel(children: readonly Pick<AgentChild, "state">[]): string {
	const active = children.filter(({ state }) => state === "working" || state === "blocked");
	if (active.length === 0) return "";
	const blocked = active.filter(({ state }) => state === "blocked").length;
	const count = active.length === 1 ? "1 subagent" : `${active.length} subagents`;
	return blocked === 0 ? count : `${count}, ${blocked} blocked`;
}

/** One subagent: "tests: working 40 %". */
export function childLabel(child: AgentChild): string {
	return `${child.title ?? child.id}: ${agentLabel(child)}`;
}
