/**
 * Starts a server in the background.
 *
 * Two commands may do so at once. The lock of the state directory lets one server start; the other exits, and its
 * command uses the first server, because both wait for any server that responds.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";

export const cliPath: string = fileURLToPath(new URL("../main.js", import.meta.url));
/** Time allowed for a start. It takes a third of a second, and many times that on a loaded machine. */
const START_MS = 20_000;
const LOOK_MS = 20;
/** Wait this long for another server that holds the lock. Then it was probably shutting down. */
const WINNER_MS = 2_000;
/** Exit code of `hawser serve` when another server uses the state directory. */
export const EXIT_ALREADY_RUNNING = 4;

type Background = {
	readonly stateDir: string;
	/** Resolves with the server that responds, if any. */
	readonly look: () => Promise<RunningServer | undefined>;
};

type RunningServer = { readonly pid: number; readonly url: string };

/** Resolves once a server responds, this one or another. */
export async function startInBackground({ stateDir, look }: Background): Promise<void> {
	await makePrivateDirectory(stateDir);
	const logFile = join(stateDir, "server.log");
	const deadline = performance.now() + START_MS;
	// Use the default port, so that users can remember the address, unless it is taken or another was requested.
	let options: readonly string[] = [];
	while (performance.now() < deadline) {
		const child = launch(["serve", "--state-dir", stateDir, ...options], logFile);
		const server = await waitForServer(child, look, deadline);
		child.unref();
		// Another command announces its own server, and its log is elsewhere.
		if (server?.pid === child.pid) printNotice(`started a server at ${server?.url} (log: ${logFile})`);
		if (server) return;
		if (child.exitCode === EXIT_ALREADY_RUNNING) continue;
		if (options.length > 0 || process.env.HAWSER_PORT) break;
		options = ["--port", "0"];
	}
	throw new UsageError(`could not start a server; see ${logFile}`);
}

function launch(args: readonly string[], logFile: string): ChildProcess {
	const log = openSync(logFile, "a", 0o600);
	try {
		// Detached, so that a hang-up or Ctrl-C of this terminal does not reach the server.
		const child = spawn(process.execPath, [cliPath, ...args], {
			cwd: "/",
			detached: true,
			stdio: ["ignore", log, log],
		});
		child.on("error", (error) => printNotice(`could not start the server: ${error.message}`));
		return child;
	} finally {
		closeSync(log);
	}
}

async function waitForServer(
	child: ChildProcess,
	look: Background["look"],
	deadline: number,
): Promise<RunningServer | undefined> {
	let until = deadline;
	let hasEnded = false;
	child.once("exit", () => {
		hasEnded = true;
		// Another server holds the lock and should respond soon.
		until = child.exitCode === EXIT_ALREADY_RUNNING ? Math.min(deadline, performance.now() + WINNER_MS) : 0;
	});
	for (;;) {
		const server = await look();
		if (server || performance.now() >= until) return server;
		// If the server exited for another reason, check once more and give up.
		if (!hasEnded || until > 0) await pause(LOOK_MS);
	}
}
