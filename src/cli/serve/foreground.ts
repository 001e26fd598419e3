/** Runs a server in the foreground until a signal. A second signal ends it at once. */

import type { Server } from "../../server/server.ts";
import { EXIT_ALREADY_RUNNING } from "../connect/start-server.ts";
import { toUserError, UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";

/** Uses its own exit code for "already running", so that `run` and `attach` can tell. */
export function withStartExitCode(error: unknown): unknown {
	const isSecond = error instanceof Error && "code" in error && error.code === "session_exists";
	return isSecond ? new UsageError(toUserError(error)?.message ?? error.message, EXIT_ALREADY_RUNNING) : error;
}

/** Never returns: exits the process after the server has closed. */
export async function serveUntilSignal(server: Pick<Server, "close">, shutdownNotice: string): Promise<never> {
	const signal = await interrupted();
	printNotice(`${signal}: ${shutdownNotice}`);
	// A second signal exits at once.
	void interrupted().then(() => process.exit(1));
	await server.close();
	process.exit(0);
}

/** Aborted by the first signal. */
export function interruption(): AbortSignal {
	const interrupted = new AbortController();
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
	return interrupted.signal;
}

/** An error with its causes, for the operator. */
export function errorChain(problem: unknown): string {
	if (!(problem instanceof Error)) return String(problem);
	const cause = problem.cause === undefined ? "" : `: ${errorChain(problem.cause)}`;
	return `${problem.message}${cause}`;
}

function interrupted(): Promise<NodeJS.Signals> {
	return new Promise((resolve) => {
		for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
	});
}
