/** `DELETE /command` and `DELETE /code`: what runs is ended, all of it; what does not run is left alone. */

import { expect, test } from "vitest";
import { anybody } from "../../../src/access/fixed.ts";
import type { Authorize } from "../../../src/core/access.ts";
import { isAlive } from "../../helpers/alive.ts";
import { eventually } from "../../helpers/reading.ts";
import { command, open, refusalOf } from "./events.ts";
import { type ExecdServer, startExecd } from "./execd-server.ts";

function interrupt(server: ExecdServer, id: string, path = "/command"): Promise<Response> {
	return server.request(`${path}?id=${id}`, { method: "DELETE" });
}

/** A command in the foreground that has printed its first line, which is a number. */
async function started(server: ExecdServer, line: string) {
	const events = await open(server, "/command", { command: line });
	const { text: id = "" } = await events.until(({ type }) => type === "init");
	return { events, id, pid: Number((await events.until(({ type }) => type === "stdout")).text) };
}

test("4.8: a running command is asked to end; the answer is empty, its stream says how it ended", async () => {
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

test("I-06, 6.5: the group kill reaches the child and the grandchild, also in a session of its own", async () => {
	const server = await startExecd();
	const { events, id, pid } = await started(server, "setsid sh -c 'echo $$; sleep 1000; :' & wait; wait");
	expect((await interrupt(server, id)).status).toBe(200);
	expect(isAlive(pid)).toBe(false);
	expect((await events.all()).exitCode).toBe(-1);
});

test("a shell that is ended does not go on with its next command, however it is ended", async () => {
	const server = await startExecd();
	const text = "echo $$; sleep 1000; echo NEXT";
	for (let i = 0; i < 20; i++) {
		const { events, id } = await started(server, text);
		await interrupt(server, id);
		expect((await events.all()).stdout).not.toContain("NEXT");
		expect((await command(server, text, { timeout: 20 })).stdout).not.toContain("NEXT");
	}
});

test("4.8: what ignores SIGTERM is killed after the grace", async () => {
	const server = await startExecd({ times: { graceMs: 200 } });
	const { events, id, pid } = await started(server, "trap '' TERM; echo $$; while :; do sleep 1000; done");
	const since = performance.now();
	expect((await interrupt(server, id)).status).toBe(200);
	expect(performance.now() - since).toBeGreaterThanOrEqual(190);
	expect(isAlive(pid)).toBe(false);
	expect((await events.all()).last?.error?.traceback).toEqual(["signal: killed"]);
});

test("4.8: a command that ends by itself when asked reports its own status", async () => {
	const server = await startExecd();
	const { events, id } = await started(server, "trap 'echo bye; exit 5' TERM; echo $$; sleep 1000 & wait");
	await interrupt(server, id);
	const stream = await events.all();
	expect([stream.stdout.at(-1), stream.exitCode]).toEqual(["bye", 5]);
});

test("I-05, 4.8: a finished command is 500 'is not running', and nobody is signalled", async () => {
	const server = await startExecd();
	const { id } = await command(server, "true");
	const [status, code, message] = await refusalOf(interrupt(server, id));
	expect([status, code]).toEqual([500, "RUNTIME_ERROR"]);
	expect(message).toContain("is not running");
	expect(server.problems).toEqual([]);
});

test("4.8: unknown is 500 'no such session', none is 400 MISSING_QUERY", async () => {
	const server = await startExecd();
	const [status, code, message] = await refusalOf(interrupt(server, "nobody"));
	expect([status, code]).toEqual([500, "RUNTIME_ERROR"]);
	expect(message).toContain("no such session");
	for (const path of ["/command", "/code", "/command?id=", "/code?other=1"])
		expect((await refusalOf(server.request(path, { method: "DELETE" }))).slice(0, 2)).toEqual([400, "MISSING_QUERY"]);
	expect(server.problems).toEqual([]);
});

test("two at once: both are told that it is over", async () => {
	let asked = 0;
	const authorize: Authorize = (caller) => {
		asked++;
		return anybody(caller);
	};
	const server = await startExecd({ times: { graceMs: 60_000 }, authorize });
	const { events, id, pid } = await started(server, "trap '' TERM; echo $$; while :; do sleep 0.05; done");
	const before = asked;
	const interrupts = [interrupt(server, id), interrupt(server, id)];
	// It ends once the second has come, too.
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
