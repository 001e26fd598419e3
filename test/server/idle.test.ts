/** Sessions that end when nobody uses them, with real keepers, and so a real server. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("a durable session ends when it is idle even while no server runs, and the next one tells why", async () => {
	const gate = join(await temporaryDirectory(), "gate");
	await promisify(execFile)("mkfifo", [gate]);
	// It has a job, and so is not idle, until somebody opens the gate.
	const argv = ["bash", "-m", "-c", `cat ${gate}; exec sleep 1000`];
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
	const created = await fetch(`${server.url}/v1/sessions`, {
		method: "POST",
		headers,
		body: JSON.stringify({ argv, idleTimeoutMs: 1_500, idleExemptJobs: true }),
	});
	const { id, pid, idleTimeoutMs } = (await created.json()) as { id: string; pid: number; idleTimeoutMs: number };
	expect(idleTimeoutMs).toBe(1_500);
	await server.kill();
	expect(existsSync(`/proc/${pid}`)).toBe(true);
	await writeFile(gate, "");
	await eventually("the end of the program", () => !existsSync(`/proc/${pid}`));
	await server.start();
	// Its keeper may hear of it last.
	const session = await eventually("that it is told", async () => {
		const told = (await (await fetch(`${server.url}/v1/sessions/${id}`, { headers })).json()) as { state: string };
		return told.state === "closed" && told;
	});
	expect(session).toMatchObject({ exit: { signal: "SIGHUP", reason: "idle" }, idleExemptJobs: true });
});
