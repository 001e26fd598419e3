/** `/pty` before its WebSocket opens: creating, status, deleting, and every refusal. */

import { mkdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { startExecd } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient, statusOf, upgradeHeaders } from "./support/pty-client.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("6.1.14: a new session exists and does not run; an empty body, an object and null are all defaults", async () => {
	const server = await startExecd();
	for (const body of [undefined, "{}", "null", " ", '{"CWD":"/tmp","unknown":[1]} and more']) {
		const response = await server.request("/pty", { method: "POST", ...(body === undefined ? {} : { body }) });
		expect(response.status).toBe(201);
		const { session_id: id } = (await response.json()) as { session_id: string };
		expect(id).toMatch(uuid);
		expect(await statusOf(server, id)).toEqual({ session_id: id, running: false, output_offset: 0 });
	}
	expect(server.sessions.list()).toEqual([]);
});

test("6.1.15, 1.5: DELETE answers with an empty body of known length, and a second one with 404", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const deleted = await server.request(`/pty/${id}`, { method: "DELETE" });
	expect([deleted.status, deleted.headers.get("content-length"), await deleted.text()]).toEqual([200, "0", ""]);
	for (const method of ["DELETE", "GET"]) {
		const again = await server.request(`/pty/${id}`, { method });
		expect([again.status, await again.json()]).toEqual([
			404,
			{ code: "CONTEXT_NOT_FOUND", message: `pty session ${id} not found` },
		]);
	}
});

test("2.2: a body with invalid JSON or members of a wrong type is refused", async () => {
	const server = await startExecd();
	for (const body of ["{", "[]", "nonsense", '{"cwd":5}', '{"command":["ls"]}']) {
		const response = await server.request("/pty", { method: "POST", body });
		expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
			400,
			"INVALID_REQUEST_BODY",
		]);
	}
});

test("1.9, I-10: the directory is expanded, and created if it is missing", async () => {
	const directory = await temporaryDirectory();
	const server = await startExecd({
		environment: () => ({ PATH: process.env.PATH ?? "", HOME: directory, SUB: "a b" }),
	});
	const id = await createPty(server, { cwd: "~/$SUB/$SUB", command: "readlink /proc/$$/cwd" });
	expect((await stat(join(directory, "a b/a b"))).isDirectory()).toBe(true);
	const client = await PtyClient.open(server, id);
	await client.message("exit");
	expect(client.output.toString()).toBe(`${directory}/a b/a b\r\n`);
});

test("I-45: an impossible directory is one error and leaves no session", async () => {
	const directory = await temporaryDirectory();
	await writeFile(join(directory, "file"), "");
	const server = await startExecd();
	for (const cwd of [join(directory, "file"), "$NO_SUCH_VARIABLE_HERE/x"]) {
		const response = await server.post("/pty", { cwd });
		const text = await response.text();
		expect([response.status, Object.keys(JSON.parse(text) as object)]).toEqual([500, ["code", "message"]]);
		expect((JSON.parse(text) as { code: string }).code).toBe("RUNTIME_ERROR");
	}
	expect(server.problems).toEqual([]);
});

test("2.5: refusals come in the order of the contract", async () => {
	const server = await startExecd({ accessToken: "secret" });
	const id = await createPty(server);
	const token = { "x-execd-access-token": "secret" };
	const ask = (path: string, headers: Record<string, string>) => handshake(server.url, path, headers);

	const noToken = await ask("/pty/unknown/ws", upgradeHeaders);
	expect([noToken.status, noToken.body]).toEqual([
		401,
		'{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}',
	]);
	const inQuery = await ask(`/pty/${id}/ws?token=secret`, upgradeHeaders);
	expect(inQuery.status).toBe(401);
	const unknown = await ask("/pty/unknown/ws", token);
	expect([unknown.status, JSON.parse(unknown.body)]).toEqual([
		404,
		{ code: "CONTEXT_NOT_FOUND", message: "pty session unknown not found" },
	]);

	const holder = await PtyClient.open(server, id, "", { headers: token });
	const { connection: _, ...noConnection } = upgradeHeaders;
	for (const headers of [{}, noConnection, { ...upgradeHeaders, "sec-websocket-key": "bad" }, upgradeHeaders]) {
		const held = await ask(`/pty/${id}/ws`, { ...token, ...headers });
		expect([held.status, (JSON.parse(held.body) as { code: string }).code]).toEqual([409, "ALREADY_CONNECTED"]);
	}
	await holder.close();
});

test("2.5: an incomplete handshake is refused in HTTP, and the lock is free afterwards (I-28)", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const { connection: _, ...noConnection } = upgradeHeaders;
	const ask = (headers: Record<string, string>) => handshake(server.url, `/pty/${id}/ws`, headers);

	const plain = await ask({});
	expect([plain.status, plain.headers["sec-websocket-version"]]).toEqual([400, "13"]);
	expect(plain.headers["content-type"]).toMatch(/^text\/plain/);
	expect((await ask({ ...noConnection, connection: "keep-alive" })).status).toBe(400);
	for (const headers of [{ connection: "upgrade" }, { ...upgradeHeaders, upgrade: "h2c" }]) {
		const refused = await ask(headers);
		expect([refused.status, refused.headers.upgrade]).toEqual([426, "websocket"]);
	}
	const { "sec-websocket-key": __, ...noKey } = upgradeHeaders;
	for (const headers of [
		noKey,
		{ ...upgradeHeaders, "sec-websocket-key": "short" },
		{ ...upgradeHeaders, "sec-websocket-version": "8" },
	])
		expect((await ask(headers)).status).toBe(400);
	expect(server.sessions.list()).toEqual([]);
	const client = await PtyClient.open(server, id);
	await client.close();
});

test("2.5: every origin is accepted, and no subprotocol or extension is negotiated", async () => {
	const server = await startExecd({ accessToken: "secret" });
	const id = await createPty(server);
	const accepted = await handshake(server.url, `/pty/${id}/ws`, {
		...upgradeHeaders,
		"x-execd-access-token": "secret",
		origin: "https://elsewhere.example",
		"sec-websocket-protocol": "one, two",
		"sec-websocket-extensions": "permessage-deflate",
	});
	expect(accepted.status).toBe(101);
	expect(Object.keys(accepted.headers)).not.toContain("sec-websocket-protocol");
	expect(Object.keys(accepted.headers)).not.toContain("sec-websocket-extensions");
});

test("2.13: a directory removed before the start fails the start, and a later connect may retry", async () => {
	const directory = join(await temporaryDirectory(), "gone");
	const server = await startExecd();
	const id = await createPty(server, { cwd: directory });
	await rm(directory, { recursive: true });
	const refused = new PtyClient(server.url, id);
	expect(await refused.closed).toEqual({ code: 1006, reason: "" });
	expect(refused.received).toEqual([
		{
			kind: "message",
			message: { type: "error", code: "START_FAILED", error: expect.stringContaining("no such directory") },
		},
	]);
	expect(await statusOf(server, id)).toEqual({ session_id: id, running: false, output_offset: 0 });
	await mkdir(directory);
	const client = await PtyClient.open(server, id);
	client.type("exit\n");
	await client.message("exit");
});

test("2.13: sh is used without bash, and EXECD_ENVS adds to the environment", async () => {
	const directory = await temporaryDirectory();
	for (const program of ["sh", "env"]) await symlink(`/bin/${program}`, join(directory, program));
	await writeFile(join(directory, "envs"), "# comment\nGREETING=hi $NAME\n");
	const server = await startExecd({
		environment: () => ({ PATH: directory, NAME: "you" }),
		envFile: join(directory, "envs"),
	});
	const id = await createPty(server, { command: 'echo "$GREETING $TERM"; test "$BASH_VERSION" || echo sh' });
	const client = await PtyClient.open(server, id);
	await client.message("exit");
	expect(client.output.toString()).toBe("hi you xterm-256color\r\nsh\r\n");
});
