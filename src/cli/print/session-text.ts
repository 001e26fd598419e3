/** Labels for sessions. */

import type { SessionMessage } from "../../client/index.ts";

/** For an ended session, how it ended. */
export function sessionStateText({ state, exit, unreachable }: SessionMessage): string {
	if (unreachable) return `${state} (unreachable)`;
	if (state === "running" || state === "lost" || !exit) return state;
	const how = exit.signal ?? `exit ${exit.code}`;
	return exit.reason === undefined ? how : `${how} (${exit.reason})`;
}

/** The name, or the ID of a session without one. */
export function displayName({ id, name }: Pick<SessionMessage, "id" | "name">): string {
	return name ?? id;
}
