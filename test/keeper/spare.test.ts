import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../backends/run.ts";
import { keeperProgram } from "../helpers/keepers.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

it("a spare that its server never greeted goes when that server is gone", async () => {
	const socket = join(await temporaryDirectory(), "spare.sock");
	const script = '"$@" & wait';
	const server = spawn("/bin/sh", ["-c", script, "sh", process.execPath, keeperProgram, socket, "epoch"], {
		stdio: "ignore",
		detached: true,
	});
	const { pid = 0 } = server;
	onTestFinished(() => {
		try {
			process.kill(-pid, "SIGKILL");
		} catch {
			// Nothing is left of it.
		}
	});
	await eventually(() => existsSync(socket));
	server.kill("SIGKILL");
	await eventually(() => !existsSync(socket));
	expect(existsSync(socket)).toBe(false);
});
