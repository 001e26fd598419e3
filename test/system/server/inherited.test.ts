/** Process attributes that programs inherit from the process that started the server. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { main } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const hardLimit = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];

test.each([
	["0027", "600"],
	["0002", "1500"],
])("a program has the umask %s and the open-files limit %s of the server, wherever it runs", async (umask, files) => {
	const stateDir = await temporaryDirectory();
	// A shell that stays, as a user's does.
	const script = `umask ${umask}; ulimit -Sn ${files}; "$@"; exit $?`;
	const serve = [process.execPath, main, "serve", "--port", "0", "--spares", "1", "--state-dir", stateDir];
	const server = spawn("/bin/bash", ["-c", script, "bash", ...serve], { stdio: ["ignore", "pipe", "inherit"] });
	await once(createInterface(server.stdout), "line");
	const { url, pid } = JSON.parse(await readFile(join(stateDir, "server.json"), "utf8")) as {
		url: string;
		pid: number;
	};
	onTestFinished(async () => {
		process.kill(pid, "SIGTERM");
		await once(server, "exit");
	});
	const token = (await readFile(join(stateDir, "admin-token"), "utf8")).trim();
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
	const request = async (path: string, init: RequestInit) =>
		(await fetch(`${url}${path}`, { ...init, headers })).json();

	const seen = [];
	for (const [durable, mode] of [
		[true, "pty"],
		[true, "pipe"],
		[false, "pty"],
		[false, "pipe"],
	] as const) {
		const file = join(stateDir, `${durable}-${mode}`);
		const argv = ["bash", "-c", `echo $(umask) $(ulimit -Sn) $(ulimit -Hn) > ${file}; exec sleep 1000`];
		const { id } = (await request("/v1/sessions", {
			method: "POST",
			body: JSON.stringify({ argv, durable, mode }),
		})) as {
			id: string;
		};
		await vi.waitFor(async () => expect(await readFile(file, "utf8")).toContain("\n"), 10_000);
		seen.push((await readFile(file, "utf8")).trim());
		const { authorization } = headers;
		const deleted = await fetch(`${url}/v1/sessions/${id}`, { method: "DELETE", headers: { authorization } });
		expect(deleted.ok).toBe(true);
	}
	expect(seen).toEqual(Array(4).fill(`${umask} ${files} ${hardLimit}`));
});
