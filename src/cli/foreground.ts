/** Runs a server in the foreground: until somebody asks it to end, and then as fast as they ask. */

import type { Server } from "../server/server.ts";
import { explain, UsageError } from "./errors.ts";
import { remark } from "./output.ts";
import { SECOND_SERVER } from "./start-server.ts";

/** Whoever starts servers by themselves must be able to tell a second one from all that may go wrong. */
export function toStartError(error: unknown): unknown {
	const isSecond = error instanceof Error && "code" in error && error.code === "session_exists";
	return isSecond ? new UsageError(explain(error)?.sentence ?? error.message, SECOND_SERVER) : error;
}

/** Never returns: ends the process when the server has closed. */
export async function serveUntilInterrupted(server: Pick<Server, "close">, farewell: string): Promise<never> {
	const signal = await interrupted();
	remark(`${signal}: ${farewell}`);
	// Whoever asks twice does not want to wait.
	void interrupted().then(() => process.exit(1));
	await server.close();
	process.exit(0);
}

/** Aborted when somebody asks us to end. */
export function interruption(): AbortSignal {
	const interrupted = new AbortController();
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
	return interrupted.signal;
}

/** A problem with everything that led to it, for whoever runs the server. */
export function describe(problem: unknown): string {
	if (!(problem instanceof Error)) return String(problem);
	const cause = problem.cause === undefined ? "" : `: ${describe(problem.cause)}`;
	return `${problem.message}${cause}`;
}

function interrupted(): Promise<NodeJS.Signals> {
	return new Promise((resolve) => {
		for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
	});
}
