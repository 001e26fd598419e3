import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

it("workspaces are created, listed and deleted", async () => {
	const { workspaces } = client;
	const put = await workspaces.put("acme", { name: "Acme", roots: ["/tmp"], limits: { sessions: 2 } });
	expect(put).toMatchObject({ id: "acme", name: "Acme", roots: ["/tmp"], limits: { sessions: 2 } });
	expect(await workspaces.get("acme")).toEqual(put);
	expect(await workspaces.list()).toEqual([put]);
	await server.create({ argv: ["cat"], workspace: "acme" });
	await expect(workspaces.remove("acme")).rejects.toMatchObject({ code: "session_exists", status: 409 });
	await workspaces.remove("acme", { force: true });
	await expect(workspaces.get("acme")).rejects.toMatchObject({ code: "not_found", status: 404 });
	expect(await client.sessions.list()).toEqual([]);
});

it("tasks are created, listed newest first and deleted", async () => {
	await client.workspaces.put("acme", { roots: [] });
	const tasks = client.workspaces.tasks("acme");
	const first = await tasks.put("t1", { workDir: "/tmp", env: { A: "1" }, issueKey: "X-1" });
	const second = await tasks.put("t2", { workDir: "/tmp" });
	expect(first).toMatchObject({ id: "t1", workspace: "acme", env: { A: "1" }, issueKey: "X-1", issueId: null });
	expect(await tasks.list()).toEqual([second, first]);
	await tasks.remove("t1");
	await expect(tasks.get("t1")).rejects.toMatchObject({ code: "not_found" });
	expect(await tasks.get("t2")).toEqual(second);
	await expect(client.workspaces.tasks("none").list()).rejects.toMatchObject({ code: "not_found" });
});
