/** The home of sessions that need not outlive the server: this very process. */

import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import { IdleWatch } from "./idle.ts";
import { LocalSession } from "./local-session.ts";
import type { Spawn } from "./process.ts";
import type { SessionStart } from "./session.ts";
import type { Home } from "./sessions.ts";
import type { HookedStart } from "./shell-runner.ts";
import type { Skim } from "./skim.ts";

export function inProcess(options: {
	readonly spawn: Spawn;
	readonly clock: Clock;
	readonly skim?: Skim;
	readonly stallMs?: number;
	/** Gives hooks to shells that are to have them; none has, when left out. */
	readonly hook?: (start: SessionStart) => Promise<HookedStart | undefined>;
	readonly onFailure?: (error: unknown) => void;
}): Home {
	const idle = new IdleWatch(options.clock);
	return {
		async start(asked) {
			const { start, hooks } = (await options.hook?.(asked)) ?? { start: asked, hooks: undefined };
			return LocalSession.start(start, { ...options, idle, shellHooks: hooks });
		},
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
