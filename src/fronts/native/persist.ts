/** Asks a session again and again, over times in which it can't be asked. */

import { SessionError } from "../../core/errors.ts";
import { pause } from "./pause.ts";

/** Before one that can't be asked now is asked again. */
const AWAY_MS = 1_000;
/** What is said by one that can never be asked: its keeper is older, or it is gone. */
const hopeless: ReadonlySet<SessionError["code"]> = new Set(["unsupported", "session_not_found", "session_closed"]);

/** Until `step` says that it is over, the signal aborts, or there is no hope. */
export async function persist(
	signal: AbortSignal,
	report: (problem: unknown) => void,
	step: () => Promise<boolean>,
): Promise<void> {
	while (!signal.aborted) {
		try {
			if (await step()) return;
		} catch (error) {
			if (!(error instanceof SessionError)) return report(error);
			if (hopeless.has(error.code)) return;
			await pause(AWAY_MS, signal);
		}
	}
}
