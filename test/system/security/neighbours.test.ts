/** Users with tokens for different workspaces: what one can learn about the others or do to them. */

import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type Started, start } from "../../support/server.ts";

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function named(server: Started, name: string): Promise<string> {
	return String((await server.post("/v1/tokens", { name, scopes: ["workspace:red:manage"] })).body.token);
}

describe("a neighbor's workspace", () => {
	it("a start does not reveal whether another workspace uses the name", async () => {
		const server = await start();
		const [red, blue] = [await server.token("workspace:red:manage"), await server.token("workspace:blue:manage")];
		const make = async (workspace: string, token: string) =>
			(await server.post("/v1/sessions", { argv: ["cat"], name: "build", workspace, durable: false }, token)).status;
		expect(await make("red", red)).toBe(201);
		expect(await make("blue", blue)).toBe(201);
		expect(await make("red", red)).toBe(409);
		// Also while the first session is still starting.
		const both = await Promise.all([make("green", server.adminToken), make("green", server.adminToken)]);
		expect(both.sort()).toEqual([201, 409]);
	});

	it("a list does not reveal session ids of other workspaces through its cursor", async () => {
		const server = await start();
		const [mine, other] = [await server.session("red"), await server.session("blue")];
		const red = await server.token("workspace:red:read");
		const list = async (after: string, query = "") => {
			const response = await server.request(`/v1/sessions?after=${after}${query}`, as(red));
			return { status: response.status, text: (await response.text()).replaceAll(after, "ID") };
		};
		expect((await list(mine)).status).toBe(200);
		const unknown = await list("x".repeat(other.length));
		expect(unknown.status).toBe(400);
		expect(await list(other)).toEqual(unknown);
		// A visible session is a valid cursor for every list, also for one that does not contain it.
		expect((await list(mine, "&workspace=none")).status).toBe(200);
	});
});

describe("a token named admin", () => {
	it("a token named admin is not recorded as the operator who ended a program", async () => {
		const server = await start();
		const impostor = await named(server, "admin");
		const endedBy = async (token: string) => {
			const id = await server.session("red");
			const response = await server.request(`/v1/sessions/${id}/kill`, { method: "POST", ...as(token) });
			return ((await response.json()) as { exit: { by: string } }).exit.by;
		};
		expect(await endedBy(server.adminToken)).toBe("admin");
		expect(await endedBy(impostor)).toBe(`token:${impostor.slice(4, 16)}:admin`);
		const nameless = await server.token("workspace:red:manage");
		expect(await endedBy(nameless)).toBe(`token:${nameless.slice(4, 16)}`);
	});

	it("a token named admin is not shown as the operator who has control", async () => {
		const server = await start();
		const id = await server.session("red");
		const impostor = await named(server, "admin");
		const url = `${server.url.replace("http", "ws")}/v1/sessions/${id}/attach`;
		const socket = new WebSocket(url, "hawser.v1", as(impostor));
		await once(socket, "open");
		socket.send(JSON.stringify({ type: "hello", since: 0, role: "writer", flow: "live" }));
		await once(socket, "message");
		socket.send(JSON.stringify({ type: "take", exclusive: true, force: false }));
		const holder = async () => {
			const { lease } = (await (await server.request(`/v1/sessions/${id}`)).json()) as {
				lease: { holder: string | null };
			};
			return lease.holder;
		};
		await expect.poll(holder).toMatch(new RegExp(`^token:${impostor.slice(4, 16)}:admin#[0-9a-f]{8}$`));
		socket.terminate();
	});
});
