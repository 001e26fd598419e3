/** Sessions that end when nobody uses them, with real keepers, and so a real server. */

import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("a durable session ends when it is idle even while no server runs, and the next one tells why", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
	const created = await fetch(`${server.url}/v1/sessions`, {
		method: "POST",
		headers,
		body: JSON.stringify({ argv: ["sleep", "1000"], idleTimeoutMs: 1_500, idleExemptJobs: true }),
	});
	const { id, pid, idleTimeoutMs } = (await created.json()) as { id: string; pid: number; idleTimeoutMs: number };
	expect(idleTimeoutMs).toBe(1_500);
	await server.kill();
	expect(existsSync(`/proc/${pid}`)).toBe(true);
	await eventually("the end of the program", () => !existsSync(`/proc/${pid}`));
	await server.start();
	const session = await (await fetch(`${server.url}/v1/sessions/${id}`, { headers })).json();
	expect(session).toMatchObject({ state: "closed", exit: { signal: "SIGHUP", reason: "idle" }, idleExemptJobs: true });
});
