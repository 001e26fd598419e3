/** A discovered server, as opposed to a given one, must prove that it knows the token before it receives it. */

import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { start } from "../../support/server.ts";

/** Records each request and forwards it unchanged to a real server. */
async function passOn(target: string): Promise<{ readonly url: string; readonly heard: string[] }> {
	const heard: string[] = [];
	const server = createServer((request, response) => {
		heard.push(JSON.stringify([request.method, request.url, request.rawHeaders]));
		const { method, url, headers } = request;
		const onward = httpRequest(new URL(url ?? "", target), { method, headers }, (answer) => {
			response.writeHead(answer.statusCode ?? 0, answer.headers);
			answer.pipe(response);
		});
		request.pipe(onward);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

/** Nothing listens at first, so the client has to discover the address. */
const nowhere = "http://127.0.0.1:9";

/** A client whose first address has just failed. */
async function finding(found: { url: string; token: string; mustProve?: boolean }) {
	const client = connect({ url: nowhere, locate: async () => found });
	await expect(client.sessions.list()).rejects.toMatchObject({ code: "node_unavailable" });
	return client;
}

it("a server proves that it knows a token, the operator's or any other", async () => {
	const { url, adminToken, token } = await start();
	for (const shown of [adminToken, await token("workspace:default:read")]) {
		expect(await (await finding({ url, token: shown })).sessions.list()).toEqual([]);
	}
});

it("a stranger who forwards the challenge to the real server gets no token", async () => {
	const { url, adminToken } = await start();
	const stranger = await passOn(url);
	const refused = { code: "node_unavailable", message: expect.stringContaining("did not issue this token") };
	const client = await finding({ url: stranger.url, token: adminToken });
	await expect(client.sessions.list()).rejects.toMatchObject(refused);
	await expect(client.sessions.at("x").attach({ reconnectTimeoutMs: 0 }).next()).rejects.toMatchObject({
		code: "node_unavailable",
	});
	const given = connect({ url: stranger.url, token: adminToken, mustProve: true });
	await expect(given.sessions.list()).rejects.toMatchObject(refused);
	expect(stranger.heard.length).toBeGreaterThan(2);
	expect(stranger.heard.join("\n")).not.toContain(adminToken);
	const trusting = await finding({ url: stranger.url, token: adminToken, mustProve: false });
	expect(await trusting.sessions.list()).toEqual([]);
});

it("a token unknown to the server is neither sent nor reported as unknown", async () => {
	const { url, request } = await start();
	const ask = async (token: string) => {
		const body = JSON.stringify({ token, nonce: "0123456789abcdef" });
		const response = await request("/v1/proof", {
			method: "POST",
			headers: { authorization: "", "content-type": "application/json" },
			body,
		});
		return { status: response.status, body: await response.json() };
	};
	const proof = expect.stringMatching(/^[0-9a-f]{64}$/);
	expect(await ask("admin")).toEqual({ status: 200, body: { proof } });
	expect(await ask("000000000000")).toEqual({ status: 200, body: { proof } });
	const client = await finding({ url, token: `hwt_000000000000_${"x".repeat(43)}` });
	await expect(client.sessions.list()).rejects.toMatchObject({ code: "node_unavailable" });
});

it("a discovered server is reached by the given transport", async () => {
	const { url, adminToken } = await start();
	const asked: string[] = [];
	const own: typeof fetch = (input, init) => {
		asked.push(String(input));
		return fetch(input, init);
	};
	const client = connect({ url: nowhere, fetch: own, locate: async () => ({ url, token: adminToken }) });
	await expect(client.sessions.list()).rejects.toMatchObject({ code: "node_unavailable" });
	expect(await client.sessions.list()).toEqual([]);
	expect(asked.filter((address) => address.startsWith(url))).toHaveLength(2);
});
