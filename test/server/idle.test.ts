/** Sessions that end when nobody uses them, with real keepers, and so a real server. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Those that it has, and nothing while it has none. */
function childrenOf(pid: number): string | undefined {
	try {
		return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1") || undefined;
	} catch {
		return "ended";
	}
}

test("a durable session ends when it is idle even while no server runs, and the next one tells why", async () => {
	const gate = join(await temporaryDirectory(), "gate");
	await promisify(execFile)("mkfifo", [gate]);
	// It has a job, and so is not idle, until somebody opens the gate.
	const argv = ["bash", "-m", "-c", `cat ${gate}; exec sleep 1000`];
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
	/** With its job: where it was idle before it had one, the next may be so for longer. */
	const create = async (idleTimeoutMs: number): Promise<{ id: string; pid: number }> => {
		const created = await fetch(`${server.url}/v1/sessions`, {
			method: "POST",
			headers,
			body: JSON.stringify({ argv, idleTimeoutMs, idleExemptJobs: true }),
		});
		const session = (await created.json()) as { id: string; pid: number; idleTimeoutMs: number };
		expect(session.idleTimeoutMs).toBe(idleTimeoutMs);
		const found = await eventually("its job, or its end", () => childrenOf(session.pid));
		return found === "ended" ? create(2 * idleTimeoutMs) : session;
	};
	const { id, pid } = await create(1_500);
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
