/** Provides sessions that end with the server, because they run in its process. */

import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";
import type { Command, Spawn } from "../process/process.ts";
import type { HookedCommand } from "../shell/shell-runner.ts";
import type { Skim } from "../terminal/skim.ts";
import { IdleWatch } from "./idle-timeout.ts";
import { LocalSession } from "./local-session.ts";
import type { SessionProvider } from "./session-registry.ts";

export function inProcess(options: {
	readonly spawn: Spawn;
	readonly clock: Clock;
	readonly skim?: Skim;
	readonly stallMs?: number;
	/** Adds hooks to shells that should have them. Without it, none has. */
	readonly hook?: (command: Command, id: string) => Promise<HookedCommand | undefined>;
	readonly onFailure?: (error: unknown) => void;
}): SessionProvider {
	const idle = new IdleWatch(options.clock);
	return {
		async start({ spec, command }) {
			const hooked = spec.shellHooks === true ? await options.hook?.(command, spec.id) : undefined;
			const start = { spec, command: hooked?.command ?? command };
			return LocalSession.start(start, { ...options, idle, shellHooks: hooked?.hooks });
		},
		// Anything kept would end with this process.
		import: async () => {
			throw new SessionError("unsupported", "this server stores no sessions on disk");
		},
		forget: async () => {},
		rename: async () => {},
		// These sessions are only in memory.
		excessBytes: async () => 0,
		keptBytes: async () => 0,
	};
}
