/** `/session`: how runs and sessions end, by themselves and by other clients, and the additions of #455. */

import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { createSession, Events, open, refusalOf, run } from "./support/events.ts";
import { type ExecdServer, startExecd } from "./support/execd-server.ts";

function remove(server: ExecdServer, session: string): Promise<Response> {
	return server.request(`/session/${session}`, { method: "DELETE" });
}

/** A run that has printed its first line, a process id. */
async function started(server: ExecdServer, session: string, line: string, more: object = {}) {
	const events = await open(server, `/session/${session}/run`, { command: line, ...more });
	return { events, pid: Number((await events.until(({ type }) => type === "stdout")).text) };
}

describe("the end of a session", () => {
	test("3.2: DELETE is 200 with Content-Length 0, then 404 CONTEXT_NOT_FOUND", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const response = await remove(server, session);
		expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "0", ""]);
		expect(await refusalOf(remove(server, session))).toEqual([
			404,
			"CONTEXT_NOT_FOUND",
			`session ${session} not found`,
		]);
	});

	test("6.4, I-06: DELETE during a run kills it at once with everything it started", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const { events, pid } = await started(server, session, "setsid sleep 1000 & echo $!; sleep 1000");
		expect((await remove(server, session)).status).toBe(200);
		const stream = await events.all();
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "-1", traceback: ["signal: killed"] });
		expect(isAlive(pid)).toBe(false);
	});

	test("DELETE ends every one of several runs, not only the last (defect of HEAD)", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const all = await Promise.all([1, 2, 3].map(() => started(server, session, "echo $$; exec sleep 1000")));
		await remove(server, session);
		for (const { events, pid } of all) {
			expect((await events.all()).exitCode).toBe(-1);
			expect(isAlive(pid)).toBe(false);
		}
	});

	test("I-01: a run started during DELETE does not survive", async () => {
		const server = await startExecd();
		const file = join(await temporaryDirectory(), "pids");
		await writeFile(file, "");
		for (let i = 0; i < 12; i++) {
			const session = await createSession(server);
			const answer = server.post(`/session/${session}/run`, { command: `echo $$ >> ${file}; exec sleep 1000` });
			// Between the request's arrival and the process's start, a little later each time.
			await new Promise((resolve) => setTimeout(resolve, i / 2));
			expect((await remove(server, session)).status).toBe(200);
			const response = await answer;
			if (response.status === 200) expect((await new Events(response).all()).exitCode).toBe(-1);
			else expect(response.status).toBe(404);
		}
		expect(server.sessions.list().filter(({ state }) => state.status === "running")).toEqual([]);
		const pids = (await readFile(file, "utf8")).split("\n").filter(Boolean).map(Number);
		for (const pid of pids) expect(isAlive(pid)).toBe(false);
		expect(server.problems).toEqual([]);
	});

	test("of two concurrent deletes one succeeds and the other finds nothing", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const { events } = await started(server, session, "echo $$; exec sleep 1000");
		const statuses = (await Promise.all([remove(server, session), remove(server, session)])).map(
			({ status }) => status,
		);
		expect(statuses.sort()).toEqual([200, 404]);
		await events.all();
	});
});

describe("the end of a run", () => {
	test("a run finishes with its shell, although a background child holds its output, and the child survives", async () => {
		const server = await startExecd({ times: { drainMs: 50 } });
		const session = await createSession(server);
		const stream = await run(server, session, "sleep 1000 & echo $!; export A=1");
		expect(stream.exitCode).toBe(0);
		const pid = Number(stream.stdout[0]);
		expect(isAlive(pid)).toBe(true);
		expect((await run(server, session, "echo $A")).stdout).toEqual(["1"]);
		process.kill(pid, "SIGKILL");
	});

	test("I-06: a timeout ends the whole tree, and an error event reports it", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "sleep 1000 & echo $!; sleep 1000", { timeout: 300 });
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "-1", traceback: ["timeout after 0.3s"] });
		expect(isAlive(Number(stream.stdout[0]))).toBe(false);
		expect((await run(server, session, "echo usable")).stdout).toEqual(["usable"]);
	});

	test("3.5: a client that disconnects cancels its run completely, and the session is usable", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const { events, pid } = await started(server, session, "sleep 1000 & echo $!; sleep 1000");
		await events.leave();
		await eventually("the end of the run", async () => !isAlive(pid));
		expect((await run(server, session, "echo usable")).stdout).toEqual(["usable"]);
		expect(server.problems).toEqual([]);
	});

	test("I-32: an interrupt with the session's id stops the run and keeps the session", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		await run(server, session, "export A=kept");
		for (const path of ["/command", "/code"]) {
			const { events, pid } = await started(server, session, "echo $$; exec sleep 1000");
			expect((await server.request(`${path}?id=${session}`, { method: "DELETE" })).status).toBe(200);
			expect((await events.all()).last?.error?.traceback).toEqual(["signal: terminated"]);
			expect(isAlive(pid)).toBe(false);
			expect((await run(server, session, "echo $A")).stdout).toEqual(["kept"]);
			const idle = await refusalOf(server.request(`${path}?id=${session}`, { method: "DELETE" }));
			expect(idle.slice(0, 2)).toEqual([500, "RUNTIME_ERROR"]);
			expect(idle[2]).toContain("is not running");
		}
	});

	test("two concurrent runs start from the same state, and the last to end stores its own", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const directory = await temporaryDirectory();
		const slow = await started(
			server,
			session,
			`echo 1; until [ -e ${directory}/go ]; do sleep 0.01; done; export WHO=slow`,
		);
		await run(server, session, "export WHO=fast");
		expect((await run(server, session, "echo $WHO")).stdout).toEqual(["fast"]);
		await writeFile(join(directory, "go"), "");
		await slow.events.all();
		expect((await run(server, session, "echo $WHO")).stdout).toEqual(["slow"]);
	});
});

describe("refusals", () => {
	test("3.3, I-33, I-35: an unknown session is 404 CONTEXT_NOT_FOUND, as JSON", async () => {
		const server = await startExecd();
		const id = randomUUID();
		const body = { command: "true" };
		for (const answer of [
			server.post(`/session/${id}/run`, body),
			server.request(`/session/${id}`),
			remove(server, id),
		])
			expect(await refusalOf(answer)).toEqual([404, "CONTEXT_NOT_FOUND", `session ${id} not found`]);
	});

	test("3.3, I-44: an invalid body is 400 INVALID_REQUEST_BODY", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		for (const body of [
			undefined,
			{},
			{ command: "" },
			{ command: "true", timeout: -1 },
			{ command: "true", timeout: "1" },
			{ command: "true", cwd: "/no/such/directory" },
			{ command: "true", cwd: "/etc/passwd" },
		])
			expect((await refusalOf(server.post(`/session/${session}/run`, body))).slice(0, 2)).toEqual([
				400,
				"INVALID_REQUEST_BODY",
			]);
	});

	test("I-34: a run that can't be started gives an error status, not half a stream", async () => {
		const server = await startExecd({ maxRunning: 1 });
		const [first, second] = [await createSession(server), await createSession(server)];
		const { events } = await started(server, first, "echo 1; exec sleep 1000");
		const refused = await refusalOf(server.post(`/session/${second}/run`, { command: "true" }));
		expect(refused.slice(0, 2)).toEqual([429, "RUNTIME_ERROR"]);
		await remove(server, first);
		await events.all();
	});
});

describe("#455", () => {
	test("GET /session/:id reports no long-lived shell for runs, and counts their lines", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const look = async () => (await server.request(`/session/${session}`)).json();
		expect(await look()).toEqual({ session_id: session, running: false, output_offset: 0 });
		const { events } = await started(server, session, "printf '1\\r\\n\\n'; exec sleep 1000");
		expect(await look()).toEqual({ session_id: session, running: false, output_offset: 2 });
		await server.request(`/code?id=${session}`, { method: "DELETE" });
		await events.all();
	});

	test("run?since returns what is retained from there, as one event before init", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const replay = async (since: string) => {
			const stream = await (await open(server, `/session/${session}/run?since=${since}`, { command: "true" })).all();
			expect(stream.types.at(stream.texts("replay").length)).toBe("init");
			return stream.texts("replay");
		};
		expect(await replay("0")).toEqual([]);
		await run(server, session, "echo one; printf two");
		await run(server, session, "echo drei: €");
		expect(await replay("0")).toEqual(["one\ntwo\ndrei: €\n"]);
		expect(await replay("4")).toEqual(["two\ndrei: €\n"]);
		expect(await replay("5abc")).toEqual(["wo\ndrei: €\n"]);
		expect(await replay("-3")).toEqual(["one\ntwo\ndrei: €\n"]);
		for (const since of ["18", "1000"]) expect(await replay(since)).toEqual([]);
		expect((await run(server, session, "true")).texts("replay")).toEqual([]);
	});

	test("a session retains only the last MiB", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		await run(server, session, "yes 1234567 | head -n 200000");
		const { output_offset } = (await (await server.request(`/session/${session}`)).json()) as { output_offset: number };
		expect(output_offset).toBe(1_600_000);
		const stream = await (await open(server, `/session/${session}/run?since=0`, { command: "true" })).all();
		const [text = ""] = stream.texts("replay");
		expect(text.length).toBeGreaterThanOrEqual(1024 * 1024);
		expect(text.length).toBeLessThan(1_600_000);
		expect(text.endsWith("1234567\n")).toBe(true);
	});
});
