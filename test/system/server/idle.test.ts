/** Sessions that end when they are idle, with real keepers and therefore a real server. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** The servers that run. Empty between servers. */
function childrenOf(pid: number): string | undefined {
	try {
		return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1") || undefined;
	} catch {
		return "ended";
	}
}

test("an idle durable session ends while no server runs, and the next server reports why", async () => {
	const gate = join(await temporaryDirectory(), "gate");
	await promisify(execFile)("mkfifo", [gate]);
	// It has a job, and so is not idle, until the gate opens.
	const argv = ["bash", "-m", "-c", `cat ${gate}; exec sleep 1000`];
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
	/** With its job. Idle time before the job started may make the next period longer. */
	const create = async (idleTimeoutMs: number): Promise<{ id: string; pid: number }> => {
		const created = await fetch(`${server.url}/v1/sessions`, {
			method: "POST",
			headers,
			body: JSON.stringify({ argv, idleTimeoutMs, idleExemptJobs: true }),
		});
		const session = (await created.json()) as { id: string; pid: number; idleTimeoutMs: number };
		expect(session.idleTimeoutMs).toBe(idleTimeoutMs);
		const found = await eventually("its job or its end", () => childrenOf(session.pid));
		return found === "ended" ? create(2 * idleTimeoutMs) : session;
	};
	const { id, pid } = await create(1_500);
	await server.kill();
	expect(existsSync(`/proc/${pid}`)).toBe(true);
	await writeFile(gate, "");
	await eventually("the end of the program", () => !existsSync(`/proc/${pid}`));
	await server.start();
	// Its keeper may notice last.
	const session = await eventually("the end to be reported", async () => {
		const info = (await (await fetch(`${server.url}/v1/sessions/${id}`, { headers })).json()) as { state: string };
		return info.state === "closed" && info;
	});
	expect(session).toMatchObject({ exit: { signal: "SIGHUP", reason: "idle" }, idleExemptJobs: true });
});
