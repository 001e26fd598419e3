/** Detects when a running program has written nothing for a time. Input begins the time anew: a person has just looked. */

import { sleep } from "../../async/sleep.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";

/**
 * Resolves with the output offset once the program has written nothing for `quietMs`. `known` is the offset of a quiet
 * period that is already reported. Resolves with undefined when the session ends or the signal aborts. Sends at most one
 * request per `quietMs` to a program that writes.
 */
export async function nextQuietPeriod(
	session: Session,
	quietMs: number,
	known: number | undefined,
	signal: AbortSignal,
): Promise<number | undefined> {
	let pulse = await session.outputActivity(null, signal);
	while (!signal.aborted && !isEnded(session.state)) {
		if (pulse.offset === known) {
			pulse = await session.outputActivity(pulse.count, signal);
			continue;
		}
		// The time before the first request is known only by the wall clock, which may have been set. From now on, the
		// monotonic clock counts.
		const beforeMs = Date.now() - (pulse.activeAt ?? pulse.lastOutputAt ?? session.spec.createdAt);
		await sleep(quietMs - Math.max(0, beforeMs), signal);
		const { offset, count } = pulse;
		pulse = await session.outputActivity(null, signal);
		const isQuiet = pulse.offset === offset && pulse.count === count;
		if (isQuiet && !signal.aborted && session.state.status === "running") return offset;
	}
	return undefined;
}
