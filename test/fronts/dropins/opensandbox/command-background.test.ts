/** `POST /command` in the background: status, log, and both after a restart of the server. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import { startOf } from "../../../support/starts.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { command, refusalOf } from "./support/events.ts";
import { type ExecdServer, KeeperSite, startExecd, startKeptExecd } from "./support/execd-server.ts";

type Status = {
	id: string;
	content: string;
	running: boolean;
	exit_code?: number;
	error?: string;
	started_at: string;
	finished_at?: string;
};

/** Starts a command in the background and returns its id. */
async function background(server: ExecdServer, line: string, more: object = {}): Promise<string> {
	const stream = await command(server, line, { background: true, ...more });
	expect(stream.types).toEqual(["init", "execution_complete"]);
	return stream.id;
}

async function status(server: ExecdServer, id: string): Promise<Status> {
	const response = await server.request(`/command/status/${id}`);
	expect(response.status).toBe(200);
	return (await response.json()) as Status;
}

function finished(server: ExecdServer, id: string): Promise<Status> {
	return eventually(`the end of ${id}`, async () => {
		const known = await status(server, id);
		// I-04: never one without the other.
		expect([known.exit_code === undefined, known.finished_at === undefined]).toEqual([known.running, known.running]);
		return known.running ? undefined : known;
	});
}

async function log(
	server: ExecdServer,
	id: string,
	cursor?: string | number,
): Promise<[text: string, next: string | null]> {
	const response = await server.request(`/command/${id}/logs${cursor === undefined ? "" : `?cursor=${cursor}`}`);
	expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
	const text = await response.text();
	if (text === "") expect(response.headers.get("content-length")).toBe("0");
	return [text, response.headers.get("execd-commands-tail-cursor")];
}

describe.each(["in this process", "in a keeper"])("background commands %s", (where) => {
	const start = async () => (where === "in a keeper" ? startKeptExecd(await KeeperSite.create()) : startExecd());

	test("4.4, 4.6: init and complete are sent at once; the status is available during and after the run", async () => {
		const server = await start();
		const directory = await temporaryDirectory();
		const line = `until [ -e ${directory}/go ]; do sleep 0.01; done; exit 3`;
		const id = await background(server, line);
		const running = await status(server, id);
		expect(running).toEqual({ id, content: line, running: true, started_at: expect.any(String) });
		expect(running.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
		await writeFile(join(directory, "go"), "");
		const { started_at, finished_at = "", ...rest } = await finished(server, id);
		expect(rest).toEqual({ id, content: line, running: false, exit_code: 3, error: "exit status 3" });
		expect(Date.parse(finished_at)).toBeGreaterThanOrEqual(Date.parse(started_at));
		const fine = await background(server, "true");
		expect(await finished(server, fine)).not.toHaveProperty("error");
		expect((await status(server, fine)).exit_code).toBe(0);
	});

	test("4.7, 6.5: the log is exact and in the order of writing, and the cursor is a fixed byte offset", async () => {
		const server = await start();
		const id = await background(server, "echo one; echo err >&2; printf 'drei €\\n\\nx'");
		await finished(server, id);
		const whole = "one\nerr\ndrei €\n\nx";
		const end = String(Buffer.byteLength(whole));
		await eventually("the whole log", async () => (await log(server, id))[1] === end);
		expect(await log(server, id)).toEqual([whole, end]);
		expect(await log(server, id, 0)).toEqual([whole, end]);
		expect(await log(server, id, 4)).toEqual([whole.slice(4), end]);
		expect(await log(server, id, end)).toEqual(["", end]);
		expect(await log(server, id, 1000)).toEqual(["", "1000"]);
		for (const odd of ["", "x", "1.5", "99999999999999999999"])
			expect(await log(server, id, odd)).toEqual([whole, end]);
		expect((await refusalOf(server.request(`/command/${id}/logs?cursor=-1`))).slice(0, 2)).toEqual([
			400,
			"INVALID_REQUEST_BODY",
		]);
	});

	test("4.7: a log can be followed by its cursor during the run without loss or duplication", async () => {
		const server = await start();
		// More than the memory limit, with a journal.
		const size = where === "in a keeper" ? 3_000_000 : 900_000;
		const fill = `head -c ${size} /dev/zero | tr '\\0' z`;
		const id = await background(server, `for i in $(seq 1 300); do echo line $i; done; ${fill}; echo; echo end`);
		let text = "";
		let cursor = "0";
		await eventually("the end of the log", async () => {
			const [more, next] = await log(server, id, cursor);
			text += more;
			cursor = next ?? "";
			expect(Number(cursor)).toBe(text.length);
			return text.endsWith("end\n");
		});
		const lines = Array.from({ length: 300 }, (_, i) => `line ${i + 1}\n`).join("");
		expect(text === `${lines}${"z".repeat(size)}\nend\n`).toBe(true);
	});

	test("4.4: a timeout kills the group, also one that ignores signals", async () => {
		const server = await start();
		const id = await background(server, "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000", { timeout: 300 });
		const known = await finished(server, id);
		expect([known.exit_code, known.error]).toEqual([-1, "signal: killed"]);
		const [text] = await log(server, id);
		await eventually("the child's end", async () => !isAlive(Number(text)));
	});

	test("background processes of the shell survive it, and their output is still recorded (defect of HEAD)", async () => {
		const server = await start();
		const directory = await temporaryDirectory();
		const id = await background(server, `(until [ -e ${directory}/go ]; do sleep 0.01; done; echo later) & echo $!`);
		expect((await finished(server, id)).exit_code).toBe(0);
		const [text] = await eventually("the pid", async () => {
			const [now, next] = await log(server, id);
			return now === "" ? undefined : [now, next];
		});
		expect(isAlive(Number(text))).toBe(true);
		await writeFile(join(directory, "go"), "");
		await eventually("its output", async () => (await log(server, id))[0] === `${text}later\n`);
	});
});

test("I-08: an announced id is known at once, every time", async () => {
	const server = await startExecd();
	for (let i = 0; i < 20; i++) {
		const response = await server.post("/command", { command: "exec sleep 0.01", background: true });
		const reader = response.body?.getReader();
		const { value } = (await reader?.read()) ?? {};
		const { text } = JSON.parse(
			Buffer.from(value ?? [])
				.toString()
				.split("\n")[0] ?? "",
		) as { text: string };
		await status(server, text);
		await reader?.cancel();
	}
});

test("4.4: a start failure is reported after init, and the id is unknown afterwards", async () => {
	const server = await startExecd({ environment: () => ({ PATH: "/nowhere" }) });
	const stream = await command(server, "true", { background: true });
	expect(stream.types).toEqual(["init", "error"]);
	expect((await server.request(`/command/status/${stream.id}`)).status).toBe(404);
});

test("a restart of the server loses neither status nor log of running and ended commands", async () => {
	const site = await KeeperSite.create();
	const directory = await temporaryDirectory();
	const before = await startKeptExecd(site);
	const ended = await background(before, "echo done; exit 4");
	const running = await background(
		before,
		`echo first; until [ -e ${directory}/go ]; do sleep 0.01; done; echo second`,
	);
	const endedStatus = await finished(before, ended);
	await eventually("the first line", async () => (await log(before, running))[0] === "first\n");
	await before.close();

	const after = await startKeptExecd(site);
	expect(await status(after, ended)).toEqual(endedStatus);
	expect(await log(after, ended)).toEqual(["done\n", "5"]);
	expect(await status(after, running)).toMatchObject({ running: true });
	await writeFile(join(directory, "go"), "");
	expect(await finished(after, running)).toMatchObject({ running: false, exit_code: 0 });
	await eventually("the second line", async () => (await log(after, running, 6))[0] === "second\n");
	const stopped = await background(after, "echo $$; exec sleep 1000");
	expect((await after.request(`/command?id=${stopped}`, { method: "DELETE" })).status).toBe(200);
	expect(await status(after, stopped)).toMatchObject({ running: false, exit_code: -1, error: "signal: terminated" });
});

test("4.4: a timeout fires while no server runs", async () => {
	const site = await KeeperSite.create();
	const times = { graceMs: 100 };
	const before = await startKeptExecd(site, { times });
	const id = await background(before, "exec sleep 1000", { timeout: 400 });
	await before.close();
	const after = await startKeptExecd(site, { times });
	expect(await finished(after, id)).toMatchObject({ running: false, exit_code: -1, error: "signal: killed" });
});

test("I-04: a command whose keeper died has ended, with a code and a reason", async () => {
	const site = await KeeperSite.create();
	const server = await startKeptExecd(site);
	const id = await background(server, "exec sleep 1000");
	const { keeper } = await site.record(server.sessions.list()[0]?.id ?? "");
	process.kill(keeper.pid, "SIGKILL");
	expect(await finished(server, id)).toMatchObject({
		running: false,
		exit_code: -1,
		error: expect.stringContaining("lost"),
	});
});

test("a label alone does not make a session a command of OpenSandbox", async () => {
	const server = await startExecd();
	const id = await background(server, "exec sleep 1000");
	const [mine] = server.sessions.list();
	await server.sessions.create(startOf(["sleep", "1000"], { labels: { "opensandbox.command": id } }));
	expect(await status(server, id)).toMatchObject({ content: mine?.spec.argv[2], running: true });
});

test("a command whose session was removed is still known, without its log", async () => {
	const server = await startExecd();
	const id = await background(server, "echo gone; exit 2");
	const known = await finished(server, id);
	for (const session of server.sessions.list()) await server.sessions.remove(session.id);
	expect(await status(server, id)).toEqual(known);
	expect((await refusalOf(server.request(`/command/${id}/logs`))).slice(0, 2)).toEqual([400, "INVALID_REQUEST_BODY"]);
});

test("4.6, 4.7: an unknown id is 404 in status and 400 in logs; a foreground command has no log", async () => {
	const server = await startExecd();
	const id = "0".repeat(32);
	expect(await refusalOf(server.request(`/command/status/${id}`))).toEqual([
		404,
		"INVALID_REQUEST_BODY",
		`command not found: ${id}`,
	]);
	expect((await refusalOf(server.request(`/command/${id}/logs`))).slice(0, 2)).toEqual([400, "INVALID_REQUEST_BODY"]);
	const foreground = await command(server, "echo hi");
	expect(await status(server, foreground.id)).toMatchObject({ content: "echo hi", running: false, exit_code: 0 });
	expect((await refusalOf(server.request(`/command/${foreground.id}/logs`))).slice(0, 2)).toEqual([
		400,
		"INVALID_REQUEST_BODY",
	]);
});
