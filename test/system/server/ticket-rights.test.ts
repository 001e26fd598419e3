/** A ticket opens one WebSocket. Whatever a request claims, a ticket grants nothing else and revokes nothing. */

import { once } from "node:events";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { ticketPrefix } from "../../../src/api/socket.ts";
import { ask, type Started, socketHeaders, start } from "../../support/server.ts";

const key = "AAAAAAAAAAAAAAAAAAAAAA==";

/** Requests that claim to be an upgrade, complete and incomplete. */
const claims: Readonly<Record<string, Record<string, string>>> = {
	"Upgrade without Connection": { upgrade: "websocket", connection: "keep-alive" },
	"Connection without Upgrade": { connection: "upgrade" },
	"a whole handshake": { ...socketHeaders },
	"a handshake without a version": { upgrade: "websocket", connection: "upgrade", "sec-websocket-key": key },
	"an upgrade to h2c": {
		upgrade: "h2c",
		connection: "upgrade, http2-settings",
		"http2-settings": "AAMAAABkAAQAoAAAAAIAAAAA",
	},
	"an upgrade to websocket or h2c": { upgrade: "websocket, h2c", connection: "upgrade" },
	"no claim": {},
};

/** Ways to offer a ticket among the subprotocols. */
const offers: readonly ((ticket: string) => string)[] = [
	(ticket) => ticket,
	(ticket) => `hawser.v1, ${ticket}`,
	(ticket) => `${ticket}, hawser.v1, ${ticket}`,
];

async function newTicket(server: Started, session: string, right = "read", token?: string): Promise<string> {
	const { status, body } = await server.post("/v1/tickets", { session, right }, token);
	expect(status).toBe(201);
	return `${ticketPrefix}${body.ticket}`;
}

/** Requests that would grant or revoke rights. */
function grantsOf(session: string, token: string): readonly { method: string; path: string; body?: object }[] {
	return [
		{ method: "POST", path: "/v1/signin-links" },
		{ method: "POST", path: "/v1/tokens", body: { scopes: ["workspace:default:manage"] } },
		{ method: "POST", path: "/v1/tokens", body: { scopes: [`session:${session}:view`] } },
		{ method: "POST", path: `/v1/sessions/${session}/links`, body: { right: "control" } },
		{ method: "POST", path: "/v1/tickets", body: { session, right: "operate" } },
		{ method: "DELETE", path: `/v1/tokens/${token}` },
		{ method: "GET", path: "/v1/tokens" },
		{ method: "GET", path: "/v1/me" },
	];
}

it.each(Object.entries(claims))("a ticket opens no route except a WebSocket: %s", async (_name, headers) => {
	const server = await start();
	const session = await server.session();
	const made = await server.post("/v1/tokens", { scopes: ["workspace:default:manage"] });
	const maker = String(made.body.token);
	for (const offer of offers) {
		for (const { method, path, body } of grantsOf(session, String(made.body.id))) {
			const ticket = await newTicket(server, session, "read", maker);
			const answer = await ask(server.url, {
				method,
				path,
				headers: { ...headers, "sec-websocket-protocol": offer(ticket) },
				body: body && JSON.stringify(body),
			});
			expect([answer.status, answer.text], `${method} ${path}`).toEqual([
				401,
				expect.stringContaining("unauthenticated"),
			]);
			// The ticket was not used up and still works for its purpose.
			const attach = await ask(server.url, {
				method: "GET",
				path: `/v1/sessions/${session}/attach`,
				headers: { ...socketHeaders, "sec-websocket-protocol": `hawser.v1, ${ticket}` },
			});
			expect(attach.status, `${method} ${path}`).toBe(101);
		}
	}
	const listed = await server.request("/v1/tokens");
	expect(((await listed.json()) as { tokens: { id: string }[] }).tokens.map(({ id }) => id)).toEqual([made.body.id]);
});

it("the audit names the ticket that opened a WebSocket, and the token that created it", async () => {
	const server = await start();
	const session = await server.session();
	const made = await server.post("/v1/tokens", { name: "backend", scopes: ["workspace:default:manage"] });
	const { body } = await server.post("/v1/tickets", { session, right: "read" }, String(made.body.token));
	const url = `${server.url.replace("http", "ws")}/v1/sessions/${session}/attach`;
	const socket = new WebSocket(url, ["hawser.v1", `${ticketPrefix}${body.ticket}`]);
	await once(socket, "open");
	socket.send(JSON.stringify({ type: "hello", since: 0, role: "viewer", flow: "live" }));
	await once(socket, "message");
	socket.close();
	await once(socket, "close");
	type Line = { action: string; by: { id: string; name: string } | null; ticket?: string };
	const linesOf = async (action: string) => {
		const answer = await server.request(`/v1/audit?action=${action}&session=${session}`);
		return ((await answer.json()) as { entries: Line[] }).entries.map(({ by, ticket }) => ({ by, ticket }));
	};
	await expect.poll(() => linesOf("detach")).toHaveLength(1);
	const maker = { id: made.body.id, name: `token:${made.body.id}:backend`, front: "access" };
	const holder = { id: `ticket:${body.id}`, name: `ticket:${body.id}:${maker.name}` };
	expect(await linesOf("ticket")).toEqual([{ by: expect.objectContaining(maker), ticket: body.id }]);
	expect(await linesOf("attach")).toEqual([{ by: expect.objectContaining(holder), ticket: undefined }]);
});
