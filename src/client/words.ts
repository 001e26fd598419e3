/** What lists say, in few words: how a session ended, and who somebody is. */

import type { SessionMessage } from "../protocol/messages.ts";
import { showUnseen } from "../protocol/printable.ts";

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
