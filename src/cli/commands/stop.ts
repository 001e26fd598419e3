/** `hawser stop`: ends the server on this machine, and not its sessions. */

import { setTimeout as pause } from "node:timers/promises";
import { Command, Option } from "commander";
import { UsageError } from "../errors.ts";
import { runningServer } from "../find-server.ts";
import { remark } from "../output.ts";

/** How long a server may take to close: it gives answers under way 2 s. */
const CLOSE_MS = 15_000;
const LOOK_MS = 20;

export const stop: Command = new Command("stop")
	.summary("end the server")
	.description(
		"Ends the server on this machine. What runs in durable sessions keeps running, and the next server finds it again; " +
			"hawser kill ends programs.",
	)
	.addOption(new Option("--state-dir <dir>", "where the server keeps its state").env("HAWSER_STATE_DIR"))
	.option("-f, --force", "at once, also if it hangs")
	.addHelpText("after", "\nExamples:\n  hawser stop\n  hawser stop --force")
	.action(async ({ force, ...flags }: { stateDir?: string; force?: true }) => {
		const server = await runningServer(flags);
		if (!server) {
			remark("no server is running");
			return;
		}
		process.kill(server.pid, force ? "SIGKILL" : "SIGTERM");
		const deadline = performance.now() + CLOSE_MS;
		while (isAlive(server.pid)) {
			if (performance.now() > deadline)
				throw new UsageError(`the server (process ${server.pid}) has not ended; hawser stop --force ends it at once`);
			await pause(LOOK_MS);
		}
		remark("the server has ended; what runs in durable sessions keeps running");
	});

function isAlive(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}
