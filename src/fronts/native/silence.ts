/** Notices when a program that runs has written nothing for a time. */

import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { pause } from "./pause.ts";

/**
 * Resolves once nothing was written for so long, with the place where the output ended; not again with `known`, the
 * place of a silence that was told. Undefined when it has ended, or the signal aborts. A program that writes is asked no
 * more often than once in that time.
 */
export async function nextSilence(
	session: Session,
	quietMs: number,
	known: number | undefined,
	signal: AbortSignal,
): Promise<number | undefined> {
	let pulse = await session.pulse(null, signal);
	while (!signal.aborted && !isEnded(session.state)) {
		if (pulse.offset === known) {
			pulse = await session.pulse(pulse.count, signal);
			continue;
		}
		// How long it was quiet before we looked is told by the clock for people; that may have been set, so from now on
		// the other one counts.
		const beforeMs = Date.now() - (pulse.lastOutputAt ?? session.spec.createdAt);
		await pause(quietMs - Math.max(0, beforeMs), signal);
		const { offset } = pulse;
		pulse = await session.pulse(null, signal);
		if (pulse.offset === offset && !signal.aborted && session.state.status === "running") return offset;
	}
	return undefined;
}
