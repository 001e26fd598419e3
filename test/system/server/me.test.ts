import { hostname } from "node:os";
import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { version } from "../../../src/server/version.ts";
import { start } from "../../support/server.ts";

it("the operator's /v1/me states all rights, all workspaces and the server", async () => {
	const server = await start({ maxSessions: "7", createRate: "9" });
	await server.session("red");
	const me = await connect({ url: server.url, token: server.adminToken }).me();
	expect(me).toEqual({
		id: "admin",
		name: "admin",
		admin: true,
		scopes: ["admin"],
		expiresAt: null,
		workspaces: [
			{ id: "default", right: "manage" },
			{ id: "red", right: "manage" },
		],
		guest: null,
		server: { name: hostname(), version },
		limits: {
			sessions: 7,
			workspaceSessions: 1000,
			journalBytes: 32 * 1024 ** 3,
			startsPerSecond: 9,
			retain: { memoryBytes: 1024 ** 2, journalBytes: 64 * 1024 ** 2 },
		},
	});
});

it("a token's /v1/me lists only its own workspaces, also empty ones", async () => {
	const server = await start();
	await server.session("red");
	const before = Date.now();
	const scopes = ["workspace:blue:operate", "workspace:green:read"];
	const { body } = await server.post("/v1/tokens", { scopes, name: "ci", expiresInMs: 60_000 });
	const me = await connect({ url: server.url, token: String(body.token) }).me();
	expect(me).toMatchObject({
		id: body.id,
		name: `token:${body.id}:ci`,
		admin: false,
		scopes,
		guest: null,
		workspaces: [
			{ id: "blue", right: "operate" },
			{ id: "green", right: "read" },
		],
	});
	expect(me.expiresAt).toBeGreaterThanOrEqual(before + 60_000);
});

it.each([["view"], ["control"]])("a guest of one session is reported as one that may %s it", async (right) => {
	const server = await start();
	const id = await server.session("red");
	const token = await server.token(`session:${id}:${right}`);
	const { guest, workspaces } = await connect({ url: server.url, token }).me();
	expect({ guest, workspaces }).toEqual({ guest: { session: id, right }, workspaces: [] });
});
