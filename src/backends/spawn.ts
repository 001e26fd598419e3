/** Starts programs, on a terminal or on pipes. */

import type { Clock } from "../core/clock.ts";
import { checkSize, type Spawn } from "../core/process.ts";
import { becomeSubreaper } from "../native/addon.ts";
import { systemClock } from "./clock.ts";
import { reapOrphans } from "./exit.ts";
import { type Find, findDescendants } from "./kill.ts";
import { spawnPipe } from "./pipe.ts";
import { spawnPty } from "./pty.ts";
import { toSpawnError } from "./start.ts";

export type SpawnOptions = {
	/**
	 * For a process that holds one session and has no children but its own: it adopts and reaps every orphan, and
	 * a kill ends all that is below it, whatever that did to hide.
	 */
	readonly ownsAllDescendants?: boolean;
	readonly clock?: Clock;
};

export function createSpawn(options: SpawnOptions = {}): Spawn {
	const clock = options.clock ?? systemClock;
	const around = options.ownsAllDescendants === true ? { clock, find: ownAllDescendants() } : { clock };
	return async (command, report) => {
		checkSize(command.size);
		try {
			return command.mode === "pty" ? spawnPty(command, report, around) : spawnPipe(command, report, around);
		} catch (thrown) {
			throw toSpawnError(thrown, command);
		}
	};
}

/** For sessions that live in this process beside others. */
export const spawn: Spawn = createSpawn();

function ownAllDescendants(): Find {
	becomeSubreaper();
	process.on("SIGCHLD", reapOrphans);
	return async () => {
		reapOrphans();
		return findDescendants();
	};
}
