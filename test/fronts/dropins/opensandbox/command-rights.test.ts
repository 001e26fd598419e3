/** Access to commands and sessions: invisible ones are not found, forbidden actions are refused. */

import { expect, test } from "vitest";
import type { Authorize } from "../../../../src/core/policy/access.ts";
import type { Right } from "../../../../src/words/rights.ts";
import { command, createSession, refusalOf } from "./support/events.ts";
import { type ExecdServer, startExecd } from "./support/execd-server.ts";

/** A caller with this right and all lesser ones. `none` has none. */
const byName: Authorize = ({ credential = "none" }) => {
	const order = ["none", "read", "operate", "manage"];
	return {
		kind: "credential",
		id: credential,
		account: credential,
		name: credential,
		isAdmin: false,
		maySeeMetrics: false,
		secrets: "none",
		makers: [],
		scopes: [],
		gate: null,
		expiresAt: null,
		may: (right: Right, { workspace }) => workspace === "default" && order.indexOf(right) <= order.indexOf(credential),
		revoked: new AbortController().signal,
		countCreation: () => 0,
	};
};

function as(server: ExecdServer, who: string): ExecdServer {
	const request = (path: string, init: RequestInit = {}) =>
		server.request(path, { ...init, headers: { "x-execd-access-token": who } });
	return { ...server, request, post: (path, body) => request(path, { method: "POST", body: JSON.stringify(body) }) };
}

test("starting anything, or deleting a session, requires the right to manage", async () => {
	const server = await startExecd({ authorize: byName });
	const session = await createSession(as(server, "manage"));
	for (const who of ["none", "read", "operate"]) {
		const other = as(server, who);
		expect((await refusalOf(other.post("/command", { command: "true" })))[0]).toBe(403);
		expect((await refusalOf(other.post("/session", {})))[0]).toBe(403);
		const status = who === "none" ? 404 : 403;
		expect((await refusalOf(other.post(`/session/${session}/run`, { command: "true" })))[0]).toBe(status);
		expect((await refusalOf(other.request(`/session/${session}`, { method: "DELETE" })))[0]).toBe(status);
	}
	expect(server.sessions.list()).toEqual([]);
});

test("an invisible command is not found", async () => {
	const server = await startExecd({ authorize: byName });
	const { id } = await command(as(server, "manage"), "exec sleep 1000", { background: true });
	const session = await createSession(as(server, "manage"));
	const stranger = as(server, "none");
	expect((await refusalOf(stranger.request(`/command/status/${id}`)))[0]).toBe(404);
	expect((await refusalOf(stranger.request(`/command/${id}/logs`)))[0]).toBe(400);
	expect((await refusalOf(stranger.request(`/session/${session}`)))[0]).toBe(404);
	for (const hidden of [id, session])
		expect((await refusalOf(stranger.request(`/command?id=${hidden}`, { method: "DELETE" })))[2]).toContain(
			"no such session",
		);
	const reader = as(server, "read");
	expect((await reader.request(`/command/status/${id}`)).status).toBe(200);
	expect((await reader.request(`/session/${session}`)).status).toBe(200);
	expect((await refusalOf(reader.request(`/command?id=${id}`, { method: "DELETE" })))[0]).toBe(403);
	expect((await as(server, "operate").request(`/command?id=${id}`, { method: "DELETE" })).status).toBe(200);
});

test("a stream ends with the token that opened it, and the command continues", async () => {
	const revoked = new AbortController();
	const authorize: Authorize = () => ({
		kind: "credential",
		id: "one",
		account: "one",
		name: "one",
		isAdmin: true,
		maySeeMetrics: true,
		secrets: "none",
		makers: [],
		scopes: [],
		gate: null,
		expiresAt: null,
		may: () => true,
		revoked: revoked.signal,
		countCreation: () => 0,
	});
	const server = await startExecd({ authorize });
	const answer = await server.post("/command", { command: "exec sleep 1000" });
	revoked.abort();
	expect(await answer.text()).toContain("the server ended this stream");
	expect(server.sessions.list().map(({ state }) => state.status)).toEqual(["running"]);
});

test("a closing server reports that in its streams", async () => {
	const server = await startExecd();
	const session = await createSession(server);
	const streams = await Promise.all([
		server.post("/command", { command: "exec sleep 1000" }),
		server.post(`/session/${session}/run`, { command: "exec sleep 1000" }),
	]);
	const closed = server.close();
	for (const stream of streams)
		expect((await stream.text()).trimEnd().split("\n\n").at(-1)).toContain('"type":"error"');
	await closed;
	expect(server.problems).toEqual([]);
});
