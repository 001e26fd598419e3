/** The audit log of a running server, for every way in. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { AuditList, AuditMessage } from "../../../src/api/types.ts";
import { listFiles } from "../../../src/audit/audit-files.ts";
import { verify } from "../../../src/audit/verify.ts";
import { connect } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { ask, type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

async function entriesOf(server: Started, query = ""): Promise<readonly AuditMessage[]> {
	const response = await server.request(`/v1/audit?limit=1000${query}`);
	expect(response.status).toBe(200);
	return ((await response.json()) as AuditList).entries;
}

/** The actions on a session, in order. */
async function actionsOn(server: Started, session: string): Promise<string[]> {
	return (await entriesOf(server, `&session=${session}`)).map(({ action }) => action);
}

async function textOf(server: Started): Promise<string> {
	const directory = join(server.stateDir, "audit");
	const files = await readdir(directory);
	return (await Promise.all(files.map((file) => readFile(join(directory, file), "utf8")))).join("");
}

test("every action on a session is recorded with caller and address, and never with what was typed", async () => {
	const server = await start();
	const secret = await server.token("workspace:default:manage");
	const client = connect({ url: server.url, token: secret });
	const session = await client.sessions.create({ argv: ["sh", "-c", "exec sleep 1000 # an-argument"], durable: false });
	await session.remove();
	const other = await client.sessions.create({ command: "stty -echo; exec cat >/dev/null", durable: false });
	await other.write("hunter2 is typed\n", { stream: "my-own-stream", position: 0 });
	await other.write("hunter2 is typed\n", { stream: "my-own-stream", position: 0 });
	await other.resize({ cols: 99, rows: 31 });
	await other.signal("WINCH");
	const attachment = other.attach();
	await attachment.take({ force: true });
	await attachment.write("hunter2 again");
	await attachment.detach();
	await eventually("the leave", async () => (await actionsOn(server, other.id)).includes("detach"));
	await other.kill();
	await eventually("the end", async () => (await actionsOn(server, other.id)).includes("end"));
	const entries = await entriesOf(server, `&session=${other.id}`);
	const [id] = secret.split("_").slice(1);
	expect(entries.find(({ action }) => action === "open")).toMatchObject({
		by: { id, name: expect.stringContaining(`token:${id}`), from: "127.0.0.1", front: "native" },
		workspace: "default",
		program: "/bin/sh",
		mode: "pty",
	});
	expect(entries.filter(({ action }) => action === "input")).toMatchObject([
		{ bytes: 17, position: 0 },
		{ bytes: 13, position: 0 },
	]);
	const actions = entries.map(({ action }) => action);
	for (const action of ["resize", "signal", "attach", "take-over", "detach", "kill"]) expect(actions).toContain(action);
	expect(entries.at(-1)).toMatchObject({ action: "end", exit: { reason: "killed" }, by: null });
	expect(await actionsOn(server, session.id)).toEqual(["open", "remove", "end"]);
	expect((await entriesOf(server, `&principal=${id}`)).length).toBeGreaterThan(5);
	const text = await textOf(server);
	for (const never of ["hunter2", "an-argument", "my-own-stream", secret, server.adminToken]) {
		expect(text).not.toContain(never);
	}
});

test("refused callers are recorded, many alike as one entry", async () => {
	const server = await start();
	const id = await server.session("theirs");
	const viewer = await server.token("workspace:theirs:read");
	const stranger = await server.token("workspace:default:manage");
	const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
	const by = { id: stranger.split("_")[1], front: "native" };
	for (let i = 0; i < 3; i++) await server.request(`/v1/sessions/${id}`, as(stranger));
	await server.request(`/v1/sessions/${id}/eof`, { method: "POST", ...as(viewer) });
	for (const path of ["/v1/audit", "/metrics"]) await server.request(path, as(stranger));
	await server.request("/v1/workspaces/x", { method: "PUT", ...as(stranger) });
	await server.request("/v1/sessions", as("nonsense"));
	await ask(server.url, { method: "GET", path: "/v1/sessions", headers: { host: "evil.example" } });
	await server.request("/signin?code=nonsense", { method: "POST" });
	const refused = await entriesOf(server, "&action=refused");
	expect(refused).toMatchObject([
		{ code: "permission_denied", right: "read", session: id, workspace: "theirs", count: 3 },
		{ code: "permission_denied", right: "operate", session: id },
		{ code: "permission_denied", route: "GET /v1/audit", by },
		{ code: "permission_denied", route: "GET /metrics", by },
		{ code: "permission_denied", route: "PUT /v1/workspaces/:ws", by },
		{ code: "unauthenticated", route: "GET /v1/sessions", by: { id: null, from: "127.0.0.1" } },
		{ code: "permission_denied", by: { front: "door" } },
		{ code: "unauthenticated", route: "POST /signin" },
	]);
	expect(await textOf(server)).not.toContain("nonsense");
});

test("a viewer's actions can't push other entries out", async () => {
	const server = await start();
	const id = await server.session();
	const headers = { authorization: `Bearer ${await server.token(`session:${id}:view`)}` };
	for (let i = 0; i < 50; i++) {
		await ask(server.url, {
			method: "GET",
			path: `/v1/sessions/${id}/output`,
			headers: { ...headers, accept: "text/event-stream" },
		});
		const body = JSON.stringify({ argv: ["true"], workspace: `made-up-${i}` });
		await ask(server.url, { method: "POST", path: "/v1/sessions", headers, body });
	}
	const entries = await entriesOf(server);
	const countOf = (wanted: string) => entries.filter(({ action }) => action === wanted).length;
	// More than one if the server took longer than the gathering interval.
	for (const action of ["attach", "detach", "refused"]) expect(countOf(action), action).toBeLessThan(10);
});

test("tokens, sign-in and sign-out are recorded with their owner", async () => {
	const server = await start();
	const { body: made } = await server.post("/v1/tokens", { scopes: ["admin"], name: "ana" });
	await server.request(`/v1/tokens/${made.id}`, { method: "DELETE" });
	const signIn = new URL(server.signInUrl ?? "");
	const signedIn = await fetch(signIn, { method: "POST" });
	const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
	await fetch(`${server.url}/v1/signout`, { method: "POST", headers: { cookie, origin: server.url } });
	expect(await entriesOf(server)).toMatchObject([
		{ action: "start", by: null },
		{ action: "token-made", token: made.id, scopes: ["admin"], by: { id: "admin" } },
		{ action: "token-revoked", token: made.id, by: { id: "admin" } },
		{ action: "sign-in", by: { id: "admin" } },
		{ action: "sign-out", by: { id: "admin" } },
	]);
	const text = await textOf(server);
	for (const never of [signIn.searchParams.get("code"), cookie.split("=")[1], made.token]) {
		expect(text).not.toContain(never);
	}
});

/** Sends the messages on a WebSocket one after the other. */
async function socket(url: string, headers: Record<string, string>) {
	const opened = new WebSocket(url.replace("http", "ws"), { headers });
	const said: string[] = [];
	opened.on("message", (data: Buffer) => said.push(data.toString("latin1")));
	onTestFinished(() => opened.terminate());
	await new Promise((resolve, reject) => opened.once("open", resolve).once("error", reject));
	const until = (pattern: RegExp) => eventually(`${pattern}`, () => said.some((text) => pattern.test(text)));
	return { opened, until };
}

async function lastOpened(server: Started, front: string): Promise<string> {
	const opened = (await entriesOf(server, "&action=open")).filter(({ by }) => by?.front === front);
	return opened.at(-1)?.session ?? "";
}

test("actions through OpenSandbox are recorded", async () => {
	const server = await start();
	const headers = { "x-execd-access-token": server.adminToken, "content-type": "application/json" };
	const run = (path: string, body: object) =>
		fetch(`${server.url}/opensandbox${path}`, { method: "POST", headers, body: JSON.stringify(body) });
	await (await run("/command", { command: "echo hello" })).text();
	expect(await actionsOn(server, await lastOpened(server, "opensandbox"))).toEqual(["open", "end"]);
	const { session_id: bash } = (await (await run("/session", {})).json()) as { session_id: string };
	const shell = await socket(`${server.url}/opensandbox/ws/session/${bash}`, headers);
	await shell.until(/connected/);
	shell.opened.send(JSON.stringify({ type: "stdin", data: "echo hunter2\n" }));
	await shell.until(/hunter2/);
	const id = await lastOpened(server, "opensandbox");
	await fetch(`${server.url}/opensandbox/session/${bash}`, { method: "DELETE", headers });
	await eventually("the end", async () => (await actionsOn(server, id)).includes("end"));
	await eventually("the leave", async () => (await actionsOn(server, id)).includes("detach"));
	const actions = await actionsOn(server, id);
	expect(actions.slice(0, 4)).toEqual(["open", "attach", "take-over", "input"]);
	expect(actions).toContain("kill");
	expect(await textOf(server)).not.toContain("hunter2");
});

test("changes of workspaces and tasks are recorded", async () => {
	const server = await start();
	const change = async (method: string, path: string, body?: object) => {
		const json = { headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/json" } };
		const init = body ? { ...json, body: JSON.stringify(body) } : {};
		expect((await server.request(`/v1/workspaces/acme${path}`, { method, ...init })).status).toBeLessThan(300);
	};
	await change("PUT", "", { roots: ["/tmp", "/srv"], limits: { sessions: 3 }, sandbox: { type: "readOnly" } });
	await change("PUT", "/tasks/fix", { workDir: "/tmp", env: { TOKEN: "hunter2" } });
	await change("DELETE", "/tasks/fix");
	await change("DELETE", "");
	const by = { id: "admin", front: "native" };
	expect((await entriesOf(server)).slice(1)).toMatchObject([
		{ action: "workspace-set", workspace: "acme", roots: 2, limits: { sessions: 3 }, sandbox: "readOnly", by },
		{ action: "task-set", workspace: "acme", task: "fix", by },
		{ action: "task-removed", workspace: "acme", task: "fix", by },
		{ action: "workspace-removed", workspace: "acme", by },
	]);
	expect(await textOf(server)).not.toContain("hunter2");
});

test("OpenSandbox access to files and ports is recorded without their content", async () => {
	const server = await start();
	const headers = { "x-execd-access-token": server.adminToken };
	const directory = await temporaryDirectory();
	await writeFile(join(directory, "a"), "hunter2");
	const path = (name: string) => `${server.url}/opensandbox${name}?path=${join(directory, "a")}`;
	for (let i = 0; i < 3; i++) expect(await (await fetch(path("/files/download"), { headers })).text()).toBe("hunter2");
	await fetch(path("/files"), { method: "DELETE", headers });
	const port = Number(new URL(server.url).port);
	await (await fetch(`${server.url}/opensandbox/proxy/${port}/healthz`, { headers })).text();
	expect((await entriesOf(server)).slice(1)).toMatchObject([
		{ action: "files", method: "GET /opensandbox/files/download", count: 3, workspace: "default", by: { id: "admin" } },
		{ action: "files", method: "DELETE /opensandbox/files", by: { front: "opensandbox" } },
		{ action: "proxy", port, workspace: "default" },
	]);
	expect(await textOf(server)).not.toContain("hunter2");
});

test("actions through Codex are recorded", async () => {
	const server = await start();
	const headers = { authorization: `Bearer ${server.adminToken}` };
	const exec = await socket(`${server.url}/codex/exec-server`, headers);
	const say = (message: object) => exec.opened.send(JSON.stringify(message));
	say({ id: 1, method: "initialize", params: { clientName: "test" } });
	await exec.until(/sessionId/);
	say({ method: "initialized", params: {} });
	const program = { argv: ["cat"], cwd: "file:///tmp", env: {}, tty: false, pipeStdin: true };
	say({ id: 2, method: "process/start", params: { processId: "p", ...program } });
	await exec.until(/"id":2/);
	const chunk = Buffer.from("hunter2").toString("base64");
	say({ id: 3, method: "process/write", params: { processId: "p", chunk, writeId: "w" } });
	await exec.until(/"id":3/);
	say({ id: 4, method: "process/terminate", params: { processId: "p" } });
	await exec.until(/"id":4/);
	for (const path of ["/etc/hostname", "/etc/hosts"]) {
		say({ id: path, method: "fs/readFile", params: { path: `file://${path}` } });
		await exec.until(new RegExp(`"id":"${path}"`));
	}
	expect(await entriesOf(server, "&action=files")).toMatchObject([
		{ method: "fs/readFile", count: 2, workspace: "default", by: { id: "admin", front: "codex-exec" } },
	]);
	const id = await lastOpened(server, "codex-exec");
	await eventually("the end", async () => (await actionsOn(server, id)).includes("end"));
	expect(await actionsOn(server, id)).toEqual(["open", "input", "kill", "end"]);

	const app = await socket(`${server.url}/codex/app-server`, headers);
	app.opened.send(
		JSON.stringify({ id: 1, method: "initialize", params: { clientInfo: { name: "t", title: "t", version: "1" } } }),
	);
	await app.until(/"id":1/);
	app.opened.send(JSON.stringify({ id: 2, method: "command/exec", params: { command: ["true"] } }));
	await app.until(/"id":2/);
	expect(await actionsOn(server, await lastOpened(server, "codex-app"))).toEqual(["open", "end"]);
	expect(await textOf(server)).not.toContain(chunk);
});

test("a sandboxed program can't see the audit log", async () => {
	const server = await start();
	const { body } = await server.post("/v1/sessions", {
		argv: ["sh", "-c", 'cat "$0"/audit/*; echo "" >> "$0/audit/audit-000001.jsonl"; echo done', server.stateDir],
		sandbox: { type: "workspaceWrite", writableRoots: ["/tmp"] },
		durable: false,
		mode: "pipe",
	});
	// Its exit is known before all of its output.
	await eventually("the last of it", async () => {
		const session = (await (await server.request(`/v1/sessions/${body.id}`)).json()) as { state: string };
		return session.state === "closed";
	});
	const output = await (await server.request(`/v1/sessions/${body.id}/output`)).text();
	expect(output).toContain("done");
	expect(output).not.toContain('"hash"');
	expect((await verify(await listFiles(join(server.stateDir, "audit")))).fault).toBeUndefined();
});

test("a server without an audit log answers reads with a sentence that says so", async () => {
	const server = await start({ maxAudit: "0" });
	expect((await server.request("/v1/audit")).status).toBe(501);
	expect(await (await server.request("/v1/info")).json()).toMatchObject({ audit: { kept: false } });
	expect(await readdir(server.stateDir)).not.toContain("audit");
});

test("the audit log is whole after a crash, and records sessions that ended meanwhile", async () => {
	const stateDir = await temporaryDirectory();
	const server = new CrashingServer(stateDir);
	onTestFinished(() => server.killAll());
	await server.start();
	const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
	const create = (argv: string[]) =>
		fetch(`${server.url}/v1/sessions`, { method: "POST", headers, body: JSON.stringify({ argv }) }).then(
			(response) => response.json() as Promise<{ id: string; pid: number }>,
		);
	const audit = async (query = "") =>
		(await (await fetch(`${server.url}/v1/audit?limit=1000${query}`, { headers })).json()) as AuditList;
	const early = await create(["true"]);
	await eventually("the end", async () => (await audit(`&session=${early.id}`)).entries.at(-1)?.action === "end");
	const { id, pid } = await create(["sleep", "1000"]);
	const { head } = await audit();
	await server.kill();
	process.kill(pid);
	await server.start();
	const ends = await eventually("the late end", async () => {
		const { entries } = await audit("&action=end");
		return entries.length === 2 && entries;
	});
	expect(ends).toMatchObject([
		{ session: early.id, exit: { code: 0 } },
		{ session: id, exit: { signal: "SIGTERM" } },
	]);
	const { fault, entries } = await verify(await listFiles(join(stateDir, "audit")), { head: head.hash });
	expect(fault).toBeUndefined();
	expect(entries).toBeGreaterThan(head.seq);
});
