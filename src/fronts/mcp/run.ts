/** Runs a command in a living shell, and tells what became of it. */

import type { RunAnswer } from "../../core/run.ts";
import type { Session } from "../../core/session.ts";
import type { Call } from "./call.ts";
import { telling } from "./wait.ts";

/** Exactly, in a shell that has our hooks; in others as far as it can be seen. */
export async function runCommand(session: Session, command: string, waitS: number, call: Call): Promise<RunAnswer> {
	const timeoutMs = waitS * 1000;
	return telling(session, timeoutMs, session.run({ command, timeoutMs, options: {} }, call.signal), call);
}
