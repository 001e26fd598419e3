/** Starts programs on a terminal or on pipes. */

import type { Clock } from "../core/async/clock.ts";
import { checkSize, type Spawn } from "../core/process/process.ts";
import { isNativeError } from "../native/addon.ts";
import { Minder, prepareMinders } from "../native/minder.ts";
import { killRemaining } from "./kill.ts";
import { OomCounter } from "./oom-counter.ts";
import { pipeStdio } from "./pipe-stdio.ts";
import { Program } from "./program.ts";
import { ptyStdio } from "./pty-stdio.ts";
import { toOrder, toSpawnError } from "./start-order.ts";
import { systemClock } from "./system-clock.ts";

type SpawnOptions = {
	readonly clock?: Clock;
	/** The process starts only one program, so no minder is kept ready. */
	readonly isForOne?: boolean;
	/** Replaced in tests, which can't run out of memory. */
	readonly oom?: OomCounter;
};

export function createSpawn({
	clock = systemClock,
	isForOne = false,
	oom = new OomCounter(),
}: SpawnOptions = {}): Spawn {
	if (isForOne) prepareMinders(0);
	return async (command, report) => {
		checkSize(command.size);
		try {
			oom.hasJustGrown();
			return await Minder.start(toOrder(command), (minder) => {
				const stdio = command.mode === "pty" ? ptyStdio(minder) : pipeStdio(minder);
				const counter = command.cgroup ? OomCounter.ofGroup(command.cgroup.path) : oom;
				return new Program({ minder, stdio, command, report, clock, oom: counter });
			});
		} catch (thrown) {
			// The minder may have been stopped by the very program that it should report.
			if (isNativeError(thrown) && thrown.code === "ETIMEDOUT") killRemaining(command.sessionId).catch(() => {});
			throw toSpawnError(thrown, command);
		}
	};
}

export const spawn: Spawn = createSpawn();
