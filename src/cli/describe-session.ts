/** Words for what the server says of a session. */

import type { SessionMessage } from "../client/index.ts";

/** How it ended is what one wants to know of something that has. */
export function stateOf({ state, exit, unreachable }: SessionMessage): string {
	if (unreachable) return `${state} (unreachable)`;
	if (state === "running" || state === "lost" || !exit) return state;
	const how = exit.signal ?? `exit ${exit.code}`;
	return exit.reason === undefined ? how : `${how} (${exit.reason})`;
}

/** As its user knows it. */
export function nameOf({ id, name }: Pick<SessionMessage, "id" | "name">): string {
	return name ?? id;
}
