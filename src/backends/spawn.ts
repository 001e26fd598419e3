/** Starts programs, on a terminal or on pipes. */

import type { Clock } from "../core/clock.ts";
import { checkSize, type Spawn } from "../core/process.ts";
import { isNativeError } from "../native/addon.ts";
import { Minder, prepareMinders } from "../native/minder.ts";
import { systemClock } from "./clock.ts";
import { killSurvivors } from "./kill.ts";
import { OomCounter } from "./oom.ts";
import { toOrder, toSpawnError } from "./order.ts";
import { pipeStdio } from "./pipe.ts";
import { Program } from "./program.ts";
import { ptyStdio } from "./pty.ts";

type SpawnOptions = {
	readonly clock?: Clock;
	/** Whether this process starts one program in its life; no minder is kept ready then. */
	readonly isForOne?: boolean;
	/** Knows whether memory ran out; for tests, which can't let that happen. */
	readonly oom?: OomCounter;
	/** Called when nothing runs any more of a program and of all that it started. */
	readonly onGone?: () => void;
};

export function createSpawn({
	clock = systemClock,
	isForOne = false,
	oom = new OomCounter(),
	onGone,
}: SpawnOptions = {}): Spawn {
	if (isForOne) prepareMinders(0);
	return async (command, report) => {
		checkSize(command.size);
		try {
			oom.hasJustGrown();
			return await Minder.start(toOrder(command), (minder) => {
				if (onGone) void minder.gone.then(onGone);
				const stdio = command.mode === "pty" ? ptyStdio(minder) : pipeStdio(minder);
				const counter = command.cgroup ? OomCounter.ofGroup(command.cgroup.path) : oom;
				return new Program({ minder, stdio, command, report, clock, oom: counter });
			});
		} catch (thrown) {
			// Its minder may have been stopped by the very program that it should have told us of.
			if (isNativeError(thrown) && thrown.code === "ETIMEDOUT") killSurvivors(command.sessionId).catch(() => {});
			throw toSpawnError(thrown, command);
		}
	};
}

export const spawn: Spawn = createSpawn();
