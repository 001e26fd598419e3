/** A closing server leaves no process of its own behind, whenever it is interrupted. */

import { randomInt, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";

/** The number of processes with this argument. */
function count(mark: string): number {
	return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(mark)).length;
}

function commandLine(pid: string): string {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "latin1");
	} catch {
		// It has just exited.
		return "";
	}
}

test("200 sessions opened and ended while the server closes leave no process", {
	timeout: 60_000,
}, async () => {
	const mark = randomUUID();
	const server = await start({ createRate: "0" });
	const statuses: number[] = [];
	const race = async () => {
		const body = { argv: ["sh", "-c", "sleep 1000; :", mark], durable: false, mode: "pipe" };
		const { status, body: session } = await server.post("/v1/sessions", body);
		statuses.push(status);
		if (status === 201 && randomInt(2) === 0) await server.request(`/v1/sessions/${session.id}`, { method: "DELETE" });
	};
	// Requests cut off by the server's end need no check.
	const races = Array.from({ length: 200 }, () => race().catch(() => {}));
	await eventually("some sessions", () => statuses.length > 20);
	await Promise.all([server.close(), server.close(), ...races]);
	expect(statuses).toContain(201);
	expect(count(mark)).toBe(0);
});

test("a program that ignores most signals ends with the server and delays no other", async () => {
	const server = await start();
	const mark = randomUUID();
	const script = "trap '' HUP INT TERM; echo ready; while :; do sleep 0.05; done";
	const { body } = await server.post("/v1/sessions", { argv: ["sh", "-c", script, mark], durable: false });
	const quick = randomUUID();
	await server.post("/v1/sessions", { argv: ["sh", "-c", "sleep 1000; :", quick], durable: false });
	const output = await server.request(`/v1/sessions/${body.id}/output?wait=10000`);
	expect(await output.text()).toContain("ready");
	const closings = [server.close(), server.close()];
	await eventually("the end of the other", () => count(quick) === 0);
	expect(count(mark)).toBeGreaterThan(0);
	await Promise.all(closings);
	expect(count(mark)).toBe(0);
});
