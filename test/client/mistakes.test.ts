import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/client/index.ts";

const outage = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }));

it.each<[string, typeof fetch, string]>([
	["an unreachable server", outage, "node_unavailable"],
	["a browser's network error", () => Promise.reject(new TypeError("Failed to fetch")), "node_unavailable"],
	["an unbound fetch", () => Promise.reject(new TypeError("Illegal invocation")), "internal"],
	["a bug of the calling program", () => (undefined as unknown as typeof fetch)(""), "internal"],
])("isProgrammingError classifies %s", async (_name, fetch, code) => {
	const client = connect({ url: "http://127.0.0.1:1", fetch });
	await expect(client.sessions.list()).rejects.toMatchObject({ code });
});

it("an invalid header value is a programming error", async () => {
	const client = connect({ url: "http://127.0.0.1:1", token: "not\na token" });
	await expect(client.sessions.list()).rejects.toThrow(TypeError);
});

it("the browser's fetch is never called as a method", async () => {
	function strict(this: unknown): Promise<Response> {
		if (this !== undefined && this !== globalThis) return Promise.reject(new TypeError("Illegal invocation"));
		return Promise.resolve(Response.json({ sessions: [], next: null }));
	}
	const client = connect({ url: "http://127.0.0.1:1", fetch: strict });
	expect(await client.sessions.list()).toEqual([]);
});

it("a page instead of JSON is not from a Hawser server", async () => {
	const other = createServer((_, response) => response.end("<h1>It works</h1>")).listen(0, "127.0.0.1");
	onTestFinished(() => void other.close());
	await once(other, "listening");
	const client = connect({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, token: "none" });
	await expect(client.sessions.list()).rejects.toMatchObject({
		code: "internal",
		message: "the server answered with status 200",
		hint: "check the address: this answer is not from a Hawser server",
	});
});

it("a server of another kind at the address is named by requests, waits and attachments", async () => {
	const other = createServer((_, response) => response.writeHead(404).end("<h1>Not found</h1>")).listen(0, "127.0.0.1");
	onTestFinished(() => void other.close());
	await once(other, "listening");
	const client = connect({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, token: "none" });
	const session = client.sessions.at("abc");
	const named = {
		message: "the server answered with status 404",
		hint: "check the address: this answer is not from a Hawser server",
	};
	await expect(client.sessions.list()).rejects.toMatchObject(named);
	await expect(session.wait({ exit: true })).rejects.toMatchObject(named);
	await expect(session.attach()[Symbol.asyncIterator]().next()).rejects.toMatchObject(named);
});
