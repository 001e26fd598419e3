import { once } from "node:events";
import { rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type Started, start } from "../../support/server.ts";
import { fill, withSmallDisk } from "../../support/small-disk.ts";

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function listed(server: Started, token: string): Promise<Record<string, unknown>[]> {
	const { tokens } = (await (await server.request("/v1/tokens", as(token))).json()) as {
		tokens: Record<string, unknown>[];
	};
	return tokens;
}

describe("tokens over HTTP", () => {
	it("tokens are created, listed without their secrets, used and revoked", async () => {
		const server = await start();
		const { status, body } = await server.post("/v1/tokens", {
			name: "ci",
			scopes: ["workspace:ci:manage"],
			expiresInMs: 60_000,
		});
		expect(status).toBe(201);
		const { token = "", id = "" } = body;
		expect(await listed(server, server.adminToken)).toEqual([
			{
				id,
				name: "ci",
				scopes: ["workspace:ci:manage"],
				createdAt: body.createdAt,
				expiresAt: Number(body.createdAt) + 60_000,
				lastUsedAt: null,
				parent: null,
				opened: 0,
				secrets: "type",
				gate: null,
			},
		]);
		expect((await server.post("/v1/sessions", { argv: ["true"], workspace: "ci", durable: false }, token)).status).toBe(
			201,
		);
		expect((await server.request(`/v1/tokens/${id}`, { method: "DELETE" })).status).toBe(204);
		expect((await server.request(`/v1/tokens/${id}`, { method: "DELETE" })).status).toBe(404);
		expect((await server.request("/v1/sessions", as(token))).status).toBe(401);
	});

	it("a token sees only itself and tokens it created", async () => {
		const server = await start();
		const [one, other] = [await server.token("workspace:red:manage"), await server.token("workspace:blue:manage")];
		const { body } = await server.post("/v1/tokens", { scopes: ["workspace:red:read"] }, one);
		expect((await listed(server, one)).map(({ id }) => id)).toEqual([one.slice(4, 16), body.id]);
		const remove = (id: unknown, token: string) =>
			server.request(`/v1/tokens/${id}`, { method: "DELETE", ...as(token) }).then(({ status }) => status);
		expect(await remove(body.id, other)).toBe(404);
		expect(await remove("admin", one)).toBe(404);
		expect(await remove("admin", server.adminToken)).toBe(403);
		expect(await remove(body.id, one)).toBe(204);
	});

	it("tokens have the same creation rate as sessions", async () => {
		const server = await start({ createRate: "1" });
		const make = async () => (await server.post("/v1/tokens", { scopes: ["admin"] })).status;
		const all = [];
		for (let index = 0; index < 8; index++) all.push(await make());
		expect(all).toContain(201);
		expect(all).toContain(429);
	});

	it("a token that has reached its limit can still revoke tokens it created", async () => {
		const server = await start({ createRate: "1" });
		const id = await server.session();
		const make = async () => (await server.post("/v1/tokens", { scopes: ["metrics"] })).status;
		while ((await make()) !== 429);
		expect((await server.post(`/v1/sessions/${id}/kill`, { graceMs: 0 })).status).toBe(200);
	});

	it.each([
		[{}, "scopes"],
		[{ scopes: [] }, "scopes"],
		[{ scopes: ["root"] }, "root"],
		[{ scopes: ["admin"], name: "a\u001b[2J" }, "name"],
		[{ scopes: ["admin"], name: "a\u061c" }, "name"],
		[{ scopes: ["admin"], name: "" }, "name"],
		[{ scopes: ["admin"], expiresInMs: 0 }, "expiresInMs"],
		[{ scopes: ["admin"], expiresInMs: 1e300 }, "expiresInMs"],
		[{ scopes: ["admin"], expires: 1 }, "expires"],
		[{ scopes: Array.from({ length: 33 }, () => "admin") }, "scopes"],
	])("an invalid token request is refused: %j", async (request, field) => {
		const server = await start();
		const { status, body } = await server.post("/v1/tokens", request);
		expect(status).toBe(400);
		expect(JSON.stringify(body)).toContain(field);
	});

	it("tokens for a session are created by tokens of its workspace", async () => {
		const server = await start();
		const id = await server.session("red");
		const red = await server.token("workspace:red:operate");
		const blue = await server.token("workspace:blue:manage");
		const share = { scopes: [`session:${id}:view`] };
		expect((await server.post("/v1/tokens", share, blue)).status).toBe(403);
		const { status, body } = await server.post("/v1/tokens", share, red);
		expect(status).toBe(201);
		const look = () => server.request(`/v1/sessions/${id}`, as(body.token ?? ""));
		expect((await look()).status).toBe(200);
		expect((await server.request(`/v1/sessions/${id}/input`, { method: "POST", ...as(body.token ?? "") })).status).toBe(
			403,
		);
	});
});

describe("tickets over HTTP", () => {
	it("a ticket is for one session that the caller sees, with at most the caller's rights", async () => {
		const server = await start();
		const id = await server.session("red");
		const viewer = await server.token(`session:${id}:view`);
		const ask = async (body: object, token: string) => (await server.post("/v1/tickets", body, token)).status;
		expect(await ask({ session: id }, viewer)).toBe(201);
		expect(await ask({ session: id, right: "operate" }, viewer)).toBe(403);
		expect(await ask({ session: id, right: "manage" }, server.adminToken)).toBe(400);
		expect(await ask({ session: "unknown" }, server.adminToken)).toBe(404);
		expect(await ask({}, server.adminToken)).toBe(400);
	});

	it("a ticket opens the socket of its session, and of no other one", async () => {
		const server = await start();
		const [id, other] = [await server.session(), await server.session()];
		const knock = async (session: string, ticketFor: string) => {
			const { ticket } = (await server.post("/v1/tickets", { session: ticketFor })).body;
			const url = `${server.url.replace("http", "ws")}/v1/sessions/${session}/attach`;
			const socket = new WebSocket(url, ["hawser.v1", `ticket.${ticket}`]);
			return new Promise((resolve) => {
				socket.on("error", () => {});
				socket.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
				socket.on("open", () => {
					resolve(socket.protocol);
					socket.terminate();
				});
			});
		};
		expect(await knock(id, id)).toBe("hawser.v1");
		expect(await knock(other, id)).toBe(404);
	});
});

describe("a revoked token", () => {
	it("a token revoked on a full disk stops at once, the answer says that it is not stored, and it stays revoked", async () => {
		await withSmallDisk(256 * 1024, async (stateDir) => {
			const server = await start({ stateDir });
			const token = await server.token("admin");
			const revoke = () => server.request(`/v1/tokens/${token.slice(4, 16)}`, { method: "DELETE" });
			// Even the space reserved for this is used up.
			await truncate(join(stateDir, "reserve"), 0);
			const filler = await fill(stateDir);
			for (const _ of ["once", "again"]) {
				const response = await revoke();
				expect([response.status, await response.json()]).toEqual([
					202,
					{ durable: false, message: expect.stringContaining("disk") },
				]);
				expect((await server.request("/v1/sessions", as(token))).status).toBe(401);
			}
			await rm(filler);
			expect((await revoke()).status).toBe(204);
			expect((await revoke()).status).toBe(404);
			await server.close();
			const next = await start({ stateDir });
			expect((await next.request("/v1/sessions", as(token))).status).toBe(401);
			await next.close();
		});
	});

	it("an expired token immediately loses its open connections", async () => {
		const server = await start();
		const id = await server.session();
		const { body } = await server.post("/v1/tokens", { scopes: ["admin"], expiresInMs: 1_000 });
		const begun = performance.now();
		const waiting = server.request(`/v1/sessions/${id}/output?since=0&wait=60000`, as(body.token ?? ""));
		await (await waiting).arrayBuffer();
		expect(performance.now() - begun).toBeLessThan(20_000);
	});

	it("a revoked token loses its sockets and its waiting requests", async () => {
		const server = await start();
		const id = await server.session();
		const token = await server.token("workspace:default:read");
		const socket = new WebSocket(
			`${server.url.replace("http", "ws")}/v1/sessions/${id}/attach`,
			"hawser.v1",
			as(token),
		);
		await once(socket, "open");
		socket.send(JSON.stringify({ type: "hello", since: 0, role: "viewer", flow: "live" }));
		await once(socket, "message");
		const closed = once(socket, "close");
		const waiting = server.request(`/v1/sessions/${id}/output?since=0&wait=60000`, as(token));
		expect((await server.request(`/v1/tokens/${token.slice(4, 16)}`, { method: "DELETE" })).status).toBe(204);
		expect((await closed)[0]).toBe(4003);
		await (await waiting).arrayBuffer();
	});
});
