import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { keeperProgram } from "../../support/keeper-site.ts";
import { eventually } from "../../support/run-program.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

it("a spare keeper that its server never greeted exits when that server is gone", async () => {
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
