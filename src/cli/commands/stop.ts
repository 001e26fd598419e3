/** `hawser stop`: stops the local server; sessions keep running. */

import { setTimeout as pause } from "node:timers/promises";
import { Command, Option } from "commander";
import { runningServer } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";

/** Time allowed for closing. The server gives pending requests 2 s. */
const CLOSE_MS = 15_000;
const LOOK_MS = 20;

export const stop: Command = new Command("stop")
	.summary("stop the server")
	.description(
		"Stops the server on this machine. Programs in durable sessions keep running, and the next server " +
			"finds them. To end programs, use hawser kill.",
	)
	.addOption(new Option("--state-dir <dir>", "state directory of the server").env("HAWSER_STATE_DIR"))
	.option("-f, --force", "kill it immediately, even if it hangs")
	.addHelpText("after", "\nExamples:\n  hawser stop\n  hawser stop --force")
	.action(async ({ force, ...flags }: { stateDir?: string; force?: true }) => {
		const server = await runningServer(flags);
		if (!server) {
			printNotice("no server is running");
			return;
		}
		process.kill(server.pid, force ? "SIGKILL" : "SIGTERM");
		const deadline = performance.now() + CLOSE_MS;
		while (isAlive(server.pid)) {
			if (performance.now() > deadline)
				throw new UsageError(`the server (PID ${server.pid}) did not stop in time; use hawser stop --force`);
			await pause(LOOK_MS);
		}
		printNotice("server stopped; durable sessions keep running");
	});

function isAlive(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}
