/** The sessions that contain this process, for commands that must not run inside them. */

import { sessionsAround } from "../backends/surrounding-sessions.ts";

/** Innermost first; includes sessions of other servers of this installation. */
export function sessionsAroundUs(): readonly string[] {
	return sessionsAround(process.pid);
}
