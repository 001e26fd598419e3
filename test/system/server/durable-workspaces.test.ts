/** Workspaces of durable sessions, with real keepers and therefore a real server. */

import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Called, call, refusalOf } from "../../support/calling.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const MiB = 1024 ** 2;

async function open(): Promise<{ server: CrashingServer; site: () => Called }> {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(async () => {
		await server.killAll();
	});
	const adminToken = await server.token();
	return { server, site: () => ({ url: server.url, adminToken }) };
}

function closed(site: Called, id: unknown): Promise<void> {
	const stateOf = async () => (await call(site, "GET", `/v1/sessions/${id}`)).body.state;
	return expect.poll(stateOf, { timeout: 20_000 }).toBe("closed");
}

test("a workspace's disk limit removes its oldest ended sessions and never running ones", async () => {
	const site = (await open()).site();
	await call(site, "PUT", "/v1/workspaces/red", { roots: [], limits: { journalBytes: 4 * MiB } });
	const make = (command: string, journalBytes: number, workspace = "red") =>
		call(site, "POST", "/v1/sessions", { command, mode: "pipe", workspace, retain: { journalBytes } });
	const statusOf = async (id: unknown) => (await call(site, "GET", `/v1/sessions/${id}`)).status;
	const ended: unknown[] = [];
	for (const workspace of ["red", "red", "blue"]) {
		const { status, body } = await make("head -c 1500000 /dev/zero", 2 * MiB, workspace);
		expect(status).toBe(201);
		await closed(site, body.id);
		ended.push(body.id);
	}
	// The end of a session is reported before its last output is on disk.
	const onDisk = async () => {
		const page = await fetch(`${site.url}/metrics`, { headers: { authorization: `Bearer ${site.adminToken}` } });
		return Number(/^hawser_journal_bytes (\d+)/m.exec(await page.text())?.[1]);
	};
	await expect.poll(onDisk).toBeGreaterThan(3 * 1_500_000);
	// It may be larger than what is left beside two ended sessions: the older one has to go, the other one may stay.
	const running = await make("sleep 1000", 2 * MiB);
	expect(running.status).toBe(201);
	expect([await statusOf(ended[0]), await statusOf(ended[1])]).toEqual([404, 200]);
	// A request that can't fit at all is refused before any session is removed.
	expect(refusalOf(await make("sleep 1000", 3 * MiB))).toEqual([429, "limit_exceeded"]);
	expect(await statusOf(ended[1])).toBe(200);
	// Two starts compete for space for one, and one succeeds.
	const both = await Promise.all([make("sleep 1000", 2 * MiB), make("sleep 1000", 2 * MiB)]);
	expect(both.map(({ status }) => status).sort()).toEqual([201, 429]);
	expect([await statusOf(ended[1]), await statusOf(ended[2])]).toEqual([404, 200]);
	expect((await call(site, "GET", `/v1/sessions/${running.body.id}`)).body.state).toBe("running");
	// A session that is not durable uses no disk space.
	const transient = { argv: ["cat"], durable: false, workspace: "red" };
	expect((await call(site, "POST", "/v1/sessions", transient)).status).toBe(201);
});

test("a workspace, its tasks and its sessions are restored after the server was killed", async () => {
	const { server, site } = await open();
	const root = await realpath(await temporaryDirectory());
	await mkdir(join(root, "in", "deep"), { recursive: true });
	await symlink(root, join(root, "in", "escape"));
	await call(site(), "PUT", "/v1/workspaces/red", { roots: [join(root, "in")], limits: { sessions: 1 } });
	await call(site(), "PUT", "/v1/workspaces/red/tasks/t1", { workDir: join(root, "in", "deep") });
	const made = await call(site(), "POST", "/v1/sessions", { argv: ["cat"], workspace: "red", task: "t1" });
	expect(made).toMatchObject({ status: 201, body: { cwd: join(root, "in", "deep"), task: "t1" } });
	await server.kill();
	await server.start();
	const found = await call(site(), "GET", `/v1/sessions/${made.body.id}`);
	expect(found.body).toMatchObject({ state: "running", workspace: "red", task: "t1", cwd: join(root, "in", "deep") });
	const one = { argv: ["cat"], workspace: "red", cwd: join(root, "in") };
	expect(refusalOf(await call(site(), "POST", "/v1/sessions", one))).toEqual([429, "limit_exceeded"]);
	await call(site(), "DELETE", `/v1/sessions/${made.body.id}`);
	const outside = { ...one, cwd: join(root, "in", "escape") };
	expect(refusalOf(await call(site(), "POST", "/v1/sessions", outside))).toEqual([403, "permission_denied"]);
	expect((await call(site(), "POST", "/v1/sessions", { ...one, task: "t1" })).status).toBe(201);
	expect((await call(site(), "DELETE", "/v1/workspaces/red?force=1")).status).toBe(204);
	expect((await call(site(), "GET", "/v1/sessions")).body.sessions).toEqual([]);
});
