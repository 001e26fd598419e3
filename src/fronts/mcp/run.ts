/** Runs a command in a running shell and reports its outcome. */

import type { Session } from "../../core/session/session.ts";
import type { RunOutcome } from "../../core/shell/run-command.ts";
import type { Call } from "./call.ts";
import { withProgress } from "./wait.ts";

/** Exact in a shell with our hooks; in others, as far as it can be observed. */
export async function runCommand(session: Session, command: string, waitS: number, call: Call): Promise<RunOutcome> {
	const timeoutMs = waitS * 1000;
	return withProgress(session, timeoutMs, session.run({ command, timeoutMs, options: {} }, call.signal), call);
}
