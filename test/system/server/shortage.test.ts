/** The built server without descriptors, without inodes, or on a failing file system. */

import { execFile } from "node:child_process";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { connect, follow, type HawserError } from "../../../src/client/index.ts";
import { CrashingServer, killKeepers } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { takeInodes, withSmallDisk } from "../../support/small-disk.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const run = promisify(execFile);
const DISK_BYTES = 16 * 1024 * 1024;
const OUTPUT = "a line of output\n";

async function ask(server: CrashingServer, path: string, method = "GET", body?: object) {
	const response = await fetch(`${server.url}${path}`, {
		method,
		headers: {
			authorization: `Bearer ${await server.token()}`,
			"x-execd-access-token": await server.token(),
			accept: path === "/mcp" ? "application/json, text/event-stream" : "*/*",
			...(body ? { "content-type": "application/json" } : {}),
		},
		...(body ? { body: JSON.stringify(body) } : {}),
	});
	const text = await response.text();
	const isJson = response.headers.get("content-type")?.startsWith("application/json");
	return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Sessions that ended under an earlier server: this server has none of their files open. */
async function withEnded(server: CrashingServer, count: number): Promise<string[]> {
	const ids: string[] = [];
	await server.start();
	for (let number = 0; number < count; number++) {
		const { body } = await ask(server, "/v1/sessions", "POST", { command: `printf '${OUTPUT.replace("\n", "\\n")}'` });
		ids.push(body.id);
	}
	for (const id of ids)
		await expect.poll(async () => (await ask(server, `/v1/sessions/${id}`)).body.state).toBe("closed");
	await server.stop();
	await eventually("the records of the ends", async () => {
		const records = ids.map((id) => readFile(join(server.stateDir, "sessions", id, "session.json"), "utf8"));
		return (await Promise.all(records)).every((record) => JSON.parse(record).ended !== null);
	});
	await server.start();
	return ids;
}

/** The routes that read an ended session. */
const READINGS = [
	"/output",
	"/output?as=text",
	"/recording",
	"/state",
	"/activity",
	"/screen",
	"/scrollback",
	"/commands",
];
/** A separate session for each test, because it must not have been opened before. */
const readingsOf = (ids: readonly string[]) => READINGS.map((path, index) => `/v1/sessions/${ids[index]}${path}`);

/** Lets the server open this many more files. The limit is on their numbers, of which any may be free. */
async function leaveDescriptors(server: CrashingServer, free: number): Promise<void> {
	const used = new Set((await readdir(`/proc/${server.pid}/fd`)).map(Number));
	let limit = 0;
	for (let left = free; left > 0 || used.has(limit); limit++) if (!used.has(limit)) left--;
	await run("prlimit", ["--pid", String(server.pid), `--nofile=${limit}:`]);
}

it("without descriptors every route reports that, attachments reconnect, and everything works again later", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(async () => {
		await server.killAll();
	});
	const ids = await withEnded(server, READINGS.length + 2);
	const [attached = "", renamed = ""] = ids.slice(READINGS.length);
	const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "sessions", arguments: {} } };
	const client = connect({ url: server.url, token: await server.token() });
	const session = await client.sessions.get(attached);
	/** A request while no descriptor is free: its connection is open already. */
	const askWithout = async (...asked: Parameters<typeof ask> extends [unknown, ...infer Rest] ? Rest : never) => {
		await leaveDescriptors(server, 0);
		return ask(server, ...asked);
	};

	const lacking = {
		status: 429,
		body: {
			error: {
				code: "limit_exceeded",
				message: expect.stringContaining("the server has too many files open (EMFILE)"),
				hint: expect.stringContaining("ulimit -n"),
			},
		},
	};
	for (const path of readingsOf(ids)) expect.soft({ path, ...(await askWithout(path)) }).toMatchObject(lacking);
	expect(await askWithout(`/v1/sessions/${renamed}`, "PATCH", { name: "other" })).toMatchObject(lacking);
	expect(await askWithout("/v1/sessions", "POST", { argv: ["bash"], durable: false })).toMatchObject(lacking);
	expect(await askWithout("/mcp", "POST", call)).toMatchObject(lacking);
	const list = await askWithout("/v1/sessions");
	expect(list.status).toBe(200);
	expect(list.body.sessions).toHaveLength(ids.length);

	// Its own connection takes the free descriptor, so the journal can't be read.
	await leaveDescriptors(server, 1);
	let failures = 0;
	const attachment = session.attach({
		role: "viewer",
		onConnection: ({ state }) => {
			if (state === "disconnected") failures++;
		},
	});
	const read = (async () => {
		let text = "";
		for await (const event of attachment) if (event.kind === "output") text += Buffer.from(event.bytes).toString();
		return text;
	})();
	await eventually("some tries to attach", () => failures > 2);
	await leaveDescriptors(server, 500);
	expect(await read).toBe(OUTPUT.replace("\n", "\r\n"));
	for (const path of readingsOf(ids))
		expect.soft({ path, ...(await ask(server, path)) }).toMatchObject({ status: 200 });
	expect(await ask(server, "/mcp", "POST", call)).toMatchObject({ status: 200 });
	expect((await ask(server, `/v1/sessions/${renamed}`, "PATCH", { name: "other" })).status).toBe(200);
});

it("followed output continues once the server has descriptors again", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(async () => {
		await server.killAll();
	});
	const [id = ""] = await withEnded(server, 1);
	const client = connect({ url: server.url, token: await server.token() });
	const session = await client.sessions.get(id);
	await leaveDescriptors(server, 0);
	const losses: HawserError[] = [];
	const options = { reconnectTimeoutMs: 60_000, onLost: (error: HawserError) => losses.push(error) };
	const read = (async () => {
		let text = "";
		for await (const { bytes } of follow(session, 0, options)) text += Buffer.from(bytes).toString();
		return text;
	})();
	await eventually("a refusal", () => losses.length > 0);
	await leaveDescriptors(server, 500);
	expect(await read).toBe(OUTPUT.replace("\n", "\r\n"));
	const message = expect.stringContaining("the server has too many files open (EMFILE)");
	expect(losses).toMatchObject([{ code: "limit_exceeded", message }]);
});

it("a stopped server starts without a free inode, reports the problem, and lets the operator free some", async () => {
	await withSmallDisk(
		DISK_BYTES,
		async (directory) => {
			const server = new CrashingServer(join(directory, "state"));
			onTestFinished(() => server.kill());
			const [ended = ""] = await withEnded(server, 1);
			const { body: running } = await ask(server, "/v1/sessions", "POST", { argv: ["cat"] });
			// Everything freed by the stop is taken by other programs.
			for (const end of [() => server.stop(), () => server.kill()]) {
				await end();
				const files = await takeInodes(directory);
				await server.start();
				const { body: list } = await ask(server, "/v1/sessions");
				expect(list.sessions).toHaveLength(2);
				const full = {
					status: 429,
					body: {
						error: {
							code: "limit_exceeded",
							message: expect.stringMatching(/disk is full .*ENOSPC/),
							hint: expect.stringContaining("space"),
						},
					},
				};
				for (const start of [{ argv: ["cat"] }, { argv: ["bash"] }, { argv: ["bash"], durable: false }]) {
					expect.soft({ start, ...(await ask(server, "/v1/sessions", "POST", start)) }).toMatchObject(full);
				}
				expect(await ask(server, `/v1/sessions/${ended}`, "PATCH", { name: "other" })).toMatchObject(full);
				expect((await ask(server, `/v1/sessions/${ended}/output`)).text).toContain(OUTPUT.trim());
				await rm(files, { recursive: true });
			}
			expect((await ask(server, `/v1/sessions/${running.id}`, "DELETE")).status).toBe(204);
			const { status, body: next } = await ask(server, "/v1/sessions", "POST", { argv: ["cat"] });
			expect(status).toBe(201);
			expect((await ask(server, `/v1/sessions/${next.id}`, "DELETE")).status).toBe(204);
		},
		{ inodes: 300 },
	);
});

it("a session with a damaged journal is listed, reports the damage when it is read, and can be removed", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(async () => {
		await server.killAll();
	});
	const [broken = "", whole = ""] = await withEnded(server, 2);
	await server.kill();
	const journal = join(server.stateDir, "sessions", broken, "journal");
	await rename(journal, `${journal}.away`);
	await writeFile(journal, "no directory");
	await server.start();

	const { status, body } = await ask(server, "/v1/sessions?overview=1");
	expect(status).toBe(200);
	expect(body.sessions).toHaveLength(2);
	const one = { id: broken, state: "closed", exit: { code: 0, signal: null }, offsets: null, unreachable: true };
	expect(body.sessions.find(({ id }: { id: string }) => id === broken)).toMatchObject(one);
	const other = body.sessions.find(({ id }: { id: string }) => id === whole);
	expect(other).toMatchObject({ offsets: { end: OUTPUT.length + 1 } });
	expect(other).not.toHaveProperty("unreachable");
	expect(await ask(server, `/v1/sessions/${broken}`)).toMatchObject({ status: 200, body: one });
	expect((await ask(server, "/metrics")).status).toBe(200);
	const error = {
		code: "node_unavailable",
		message: expect.stringContaining("(ENOTDIR)"),
		hint: expect.stringContaining("log"),
	};
	for (const path of READINGS) {
		expect
			.soft({ path, ...(await ask(server, `/v1/sessions/${broken}${path}`)) })
			.toMatchObject({ status: 503, body: { error } });
	}
	await rm(journal);
	await rename(`${journal}.away`, journal);
	expect((await ask(server, `/v1/sessions/${broken}/output`)).text).toBe(OUTPUT.replace("\n", "\r\n"));

	await rename(journal, `${journal}.away`);
	await writeFile(journal, "no directory");
	expect((await ask(server, `/v1/sessions/${broken}`, "DELETE")).status).toBe(204);
	expect((await ask(server, "/v1/sessions")).body.sessions).toMatchObject([{ id: whole }]);
	expect(await readdir(join(server.stateDir, "sessions"))).toEqual([whole]);
});

it("a read-only sessions directory refuses changes for now, and works again once it is writable", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const server = new CrashingServer(join(directory, "state"));
		onTestFinished(() => server.kill());
		const [ended = ""] = await withEnded(server, 1);
		const sessions = join(server.stateDir, "sessions");
		await run("mount", ["--bind", sessions, sessions]);
		await run("mount", ["-o", "remount,ro,bind", sessions]);
		const error = {
			code: "node_unavailable",
			message: "the server's disk is read-only (EROFS)",
			hint: expect.stringContaining("try again"),
		};
		const refused = { status: 503, body: { error } };
		try {
			expect(await ask(server, `/v1/sessions/${ended}`, "PATCH", { name: "other" })).toMatchObject(refused);
			expect(await ask(server, `/v1/sessions/${ended}`, "DELETE")).toMatchObject(refused);
			expect((await ask(server, `/v1/sessions/${ended}/output`)).text).toContain(OUTPUT.trim());
			expect(await ask(server, "/v1/sessions", "POST", { argv: ["cat"] })).toMatchObject({
				status: 503,
				body: {
					error: {
						code: "node_unavailable",
						message: expect.stringMatching(/sessions\/\w+ can't be written \(EROFS\)$/),
						hint: error.hint,
					},
				},
			});
		} finally {
			await run("umount", ["--lazy", sessions]);
		}
		expect((await ask(server, `/v1/sessions/${ended}`)).body).toMatchObject({ name: null, state: "closed" });
		expect((await ask(server, `/v1/sessions/${ended}`, "DELETE")).status).toBe(204);
		await server.kill();
		await killKeepers(server.stateDir);
	});
});
