/** What lists say, in few words: what a session runs, how it ended, and who somebody is. */

import { commandLine } from "../protocol/command-line.ts";
import type { SessionMessage } from "../protocol/messages.ts";
import { showUnseen } from "../protocol/printable.ts";

/** A command as one would type it: copied into a shell, it is the same one. */
export function typedLine(argv: readonly string[]): string {
	// A line that was given to a shell is shown as it was typed.
	const [shell, flag, line, ...more] = argv;
	if (shell === "/bin/sh" && flag === "-c" && line !== undefined && more.length === 0) return line;
	return commandLine(argv);
}

/** For a row: "exit 0", "killed", "timed out". */
export function shortEnd({ state, exit }: Pick<SessionMessage, "state" | "exit">): string {
	if (state === "lost") return "lost";
	if (!exit) return "ended";
	if (exit.reason === "killed") return "killed";
	if (exit.reason === "timeout") return "timed out";
	if (exit.reason === "idle") return "was idle";
	if (exit.reason === "oom") return "out of memory";
	return exit.signal ?? `exit ${exit.code}`;
}

/** Of one that somebody should look at. */
export function failureWord({ exit }: Pick<SessionMessage, "exit">): string {
	if (exit?.reason === "oom") return "out of memory";
	return exit?.signal ? `ended by ${exit.signal}` : `ended with ${exit?.code}`;
}

/** Whoever it is, as people know them: `admin`, or the name of their token. */
export function callerName(caller: string | null): string {
	const [name = ""] = (caller ?? "somebody").split("#");
	const [kind, id, ...rest] = name.split(":");
	return showUnseen(kind === "token" ? rest.join(":") || `token ${id}` : name);
}

/** That some need somebody, for who does not look at the list. */
export function needingSentence(count: number, name: string, word: string): string {
	return count === 1 ? `${name} needs you: ${word}.` : `${count} sessions need you; ${name}: ${word}.`;
}
