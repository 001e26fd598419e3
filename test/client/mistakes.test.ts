import { expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";

const outage = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }));

it.each<[string, typeof fetch, string]>([
	["a server that is not there", outage, "node_unavailable"],
	["what a browser says of the network", () => Promise.reject(new TypeError("Failed to fetch")), "node_unavailable"],
	["a fetch that was not bound", () => Promise.reject(new TypeError("Illegal invocation")), "internal"],
	["a mistake in the program's own", () => (undefined as unknown as typeof fetch)(""), "internal"],
])("%s is told as what it is", async (_name, fetch, code) => {
	const client = connect({ url: "http://127.0.0.1:1", fetch });
	await expect(client.sessions.list()).rejects.toMatchObject({ code });
});

it("what can't be in a header is no outage either", async () => {
	const client = connect({ url: "http://127.0.0.1:1", token: "not\na token" });
	await expect(client.sessions.list()).rejects.toThrow(TypeError);
});

it("a fetch of a browser, which must not be called as somebody's method, is not", async () => {
	function strict(this: unknown): Promise<Response> {
		if (this !== undefined && this !== globalThis) return Promise.reject(new TypeError("Illegal invocation"));
		return Promise.resolve(Response.json({ sessions: [], next: null }));
	}
	const client = connect({ url: "http://127.0.0.1:1", fetch: strict });
	expect(await client.sessions.list()).toEqual([]);
});
