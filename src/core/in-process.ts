/** The home of sessions that need not outlive the server: this very process. */

import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import { IdleWatch } from "./idle.ts";
import { LocalSession } from "./local-session.ts";
import type { Spawn } from "./process.ts";
import type { Home } from "./sessions.ts";

export function inProcess(options: {
	readonly spawn: Spawn;
	readonly clock: Clock;
	readonly onFailure?: (error: unknown) => void;
}): Home {
	const idle = new IdleWatch(options.clock);
	return {
		start: (start) => LocalSession.start(start, { ...options, idle }),
		// What would be kept of it would end with this process.
		keep: async () => {
			throw new SessionError("unsupported", "this server keeps nothing on disk");
		},
		forget: async () => {},
		rename: async () => {},
		// It keeps nothing but what its sessions have in memory.
		excessBytes: async () => 0,
		keptBytes: async () => 0,
	};
}
