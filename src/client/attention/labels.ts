/** Short labels for lists: commands, exits, callers. */

import type { SessionMessage } from "../../api/types.ts";
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
