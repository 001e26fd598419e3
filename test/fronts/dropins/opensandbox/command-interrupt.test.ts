/**
 * `DELETE /command` and `DELETE /code`: a running command is ended with all its processes, and an ended one is left
 * alone.
 */

import { expect, test } from "vitest";
import { allowAnyone } from "../../../../src/access/fixed-access.ts";
import type { Authorize } from "../../../../src/core/policy/access.ts";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import { command, open, refusalOf } from "./support/events.ts";
import { type ExecdServer, startExecd } from "./support/execd-server.ts";

function interrupt(server: ExecdServer, id: string, path = "/command"): Promise<Response> {
	return server.request(`${path}?id=${id}`, { method: "DELETE" });
}

/** A foreground command that has printed its first line, a process id. */
async function started(server: ExecdServer, line: string) {
	const events = await open(server, "/command", { command: line });
	const { text: id = "" } = await events.until(({ type }) => type === "init");
	return { events, id, pid: Number((await events.until(({ type }) => type === "stdout")).text) };
}

test("4.8: a running command gets SIGTERM; the answer is empty, and its stream reports the exit", async () => {
	const server = await startExecd();
	for (const path of ["/command", "/code"]) {
		const { events, id, pid } = await started(server, "echo $$; exec sleep 1000");
		const response = await interrupt(server, id, path);
		expect([response.status, response.headers.get("content-length")]).toEqual([200, "0"]);
		expect(isAlive(pid)).toBe(false);
		const stream = await events.all();
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "-1", traceback: ["signal: terminated"] });
	}
});

test("I-06, 6.5: the group kill reaches child and grandchild, also in a session of its own", async () => {
	const server = await startExecd();
	const { events, id, pid } = await started(server, "setsid sh -c 'echo $$; sleep 1000; :' & wait; wait");
	expect((await interrupt(server, id)).status).toBe(200);
	expect(isAlive(pid)).toBe(false);
	expect((await events.all()).exitCode).toBe(-1);
});

test("an interrupted shell does not run its next command, whichever signal ended it", async () => {
	const server = await startExecd();
	const text = "echo $$; sleep 1000; echo NEXT";
	for (let i = 0; i < 20; i++) {
		const { events, id } = await started(server, text);
		await interrupt(server, id);
		expect((await events.all()).stdout).not.toContain("NEXT");
		expect((await command(server, text, { timeout: 20 })).stdout).not.toContain("NEXT");
	}
});

test("4.8: a command that ignores SIGTERM is killed after the grace time", async () => {
	const server = await startExecd({ times: { graceMs: 200 } });
	const { events, id, pid } = await started(server, "trap '' TERM; echo $$; while :; do sleep 1000; done");
	const since = performance.now();
	expect((await interrupt(server, id)).status).toBe(200);
	expect(performance.now() - since).toBeGreaterThanOrEqual(190);
	expect(isAlive(pid)).toBe(false);
	expect((await events.all()).last?.error?.traceback).toEqual(["signal: killed"]);
});

test("4.8: a command that exits on SIGTERM reports its own status", async () => {
	const server = await startExecd();
	const { events, id } = await started(server, "trap 'echo bye; exit 5' TERM; echo $$; sleep 1000 & wait");
	await interrupt(server, id);
	const stream = await events.all();
	expect([stream.stdout.at(-1), stream.exitCode]).toEqual(["bye", 5]);
});

test("I-05, 4.8: interrupting a finished command is 500 'is not running', and signals no process", async () => {
	const server = await startExecd();
	const { id } = await command(server, "true");
	const [status, code, message] = await refusalOf(interrupt(server, id));
	expect([status, code]).toEqual([500, "RUNTIME_ERROR"]);
	expect(message).toContain("is not running");
	expect(server.problems).toEqual([]);
});

test("4.8: an unknown id is 500 'no such session', a missing one 400 MISSING_QUERY", async () => {
	const server = await startExecd();
	const [status, code, message] = await refusalOf(interrupt(server, "unknown"));
	expect([status, code]).toEqual([500, "RUNTIME_ERROR"]);
	expect(message).toContain("no such session");
	for (const path of ["/command", "/code", "/command?id=", "/code?other=1"])
		expect((await refusalOf(server.request(path, { method: "DELETE" }))).slice(0, 2)).toEqual([400, "MISSING_QUERY"]);
	expect(server.problems).toEqual([]);
});

test("two concurrent interrupts both succeed", async () => {
	let asked = 0;
	const authorize: Authorize = (caller) => {
		asked++;
		return allowAnyone(caller);
	};
	const server = await startExecd({ times: { graceMs: 60_000 }, authorize });
	const { events, id, pid } = await started(server, "trap '' TERM; echo $$; while :; do sleep 0.05; done");
	const before = asked;
	const interrupts = [interrupt(server, id), interrupt(server, id)];
	// The command ends only after the second one has arrived.
	await eventually("both", () => asked === before + 2);
	process.kill(pid, "SIGKILL");
	expect((await Promise.all(interrupts)).map(({ status }) => status)).toEqual([200, 200]);
	await events.all();
});

test("I-07: a zombie is no failure", async () => {
	const server = await startExecd();
	// The child ends at once and stays a zombie, because its parent has become a program that does not wait for it.
	const { events, id } = await started(server, "true & echo $!; exec sleep 1000");
	expect((await interrupt(server, id)).status).toBe(200);
	await events.all();
});
