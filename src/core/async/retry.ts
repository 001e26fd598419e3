import { sleep } from "../../async/sleep.ts";
import { SessionError } from "../errors.ts";

/** Delay before an unreachable session is tried again. */
const AWAY_MS = 1_000;
/** Errors after which a retry can't succeed. */
const permanent: ReadonlySet<SessionError["code"]> = new Set(["unsupported", "session_not_found", "session_closed"]);

/**
 * Repeats `step` while the session is unreachable, until it returns true, the signal aborts, or the error is permanent.
 */
export async function retryWhileUnreachable(
	signal: AbortSignal,
	report: (problem: unknown) => void,
	step: () => Promise<boolean>,
): Promise<void> {
	while (!signal.aborted) {
		try {
			if (await step()) return;
		} catch (error) {
			if (!(error instanceof SessionError)) return report(error);
			if (permanent.has(error.code)) return;
			await sleep(AWAY_MS, signal);
		}
	}
}
