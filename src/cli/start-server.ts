/**
 * Starts a server in the background for a command that found none.
 *
 * Two commands may do so at once. The state directory's lock lets one server in; the other ends, and its starter
 * uses the winner's, because what either waits for is not its own child but a server that answers.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { makeTree } from "../server/make-tree.ts";
import { UsageError } from "./errors.ts";
import { remark } from "./output.ts";

export const main: string = fileURLToPath(new URL("./main.js", import.meta.url));
/** How long a server may take to answer; it takes a third of a second, and a crowded machine many times that. */
const START_MS = 20_000;
const LOOK_MS = 20;
/** How long to wait for the winner of a race before we suppose that it was a server on its way out. */
const WINNER_MS = 2_000;
/** What `hawser serve` ends with when another server has the state directory. */
export const SECOND_SERVER = 4;

type Background = {
	readonly stateDir: string;
	/** The server that answers, if there is one. */
	readonly look: () => Promise<Answering | undefined>;
};

type Answering = { readonly pid: number; readonly url: string };

/** Resolves once a server answers, ours or somebody else's. */
export async function startInBackground({ stateDir, look }: Background): Promise<void> {
	await makeTree(stateDir);
	const logFile = join(stateDir, "server.log");
	const deadline = performance.now() + START_MS;
	// The usual port, so that its address can be remembered; any other where that is taken, unless a port was asked for.
	let options: readonly string[] = [];
	while (performance.now() < deadline) {
		const child = launch(["serve", "--state-dir", stateDir, ...options], logFile);
		const server = await answering(child, look, deadline);
		child.unref();
		// Somebody else's is none of ours to announce, and its log is elsewhere.
		if (server?.pid === child.pid) remark(`no server was running; one is now, at ${server?.url} (its log: ${logFile})`);
		if (server) return;
		if (child.exitCode === SECOND_SERVER) continue;
		if (options.length > 0 || process.env.HAWSER_PORT) break;
		options = ["--port", "0"];
	}
	throw new UsageError(`no server could be started; ${logFile} says why`);
}

function launch(args: readonly string[], logFile: string): ChildProcess {
	const log = openSync(logFile, "a", 0o600);
	try {
		// A session of its own, so that no hang-up or Ctrl-C of this terminal reaches it.
		const child = spawn(process.execPath, [main, ...args], { cwd: "/", detached: true, stdio: ["ignore", log, log] });
		child.on("error", (error) => remark(`the server can't be started: ${error.message}`));
		return child;
	} finally {
		closeSync(log);
	}
}

async function answering(
	child: ChildProcess,
	look: Background["look"],
	deadline: number,
): Promise<Answering | undefined> {
	let until = deadline;
	let hasEnded = false;
	child.once("exit", () => {
		hasEnded = true;
		// Another one was faster: it has the lock already, and will answer soon.
		until = child.exitCode === SECOND_SERVER ? Math.min(deadline, performance.now() + WINNER_MS) : 0;
	});
	for (;;) {
		const server = await look();
		if (server || performance.now() >= until) return server;
		// A server that ended for another reason is looked for once more and not again.
		if (!hasEnded || until > 0) await pause(LOOK_MS);
	}
}
