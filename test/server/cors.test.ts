import { describe, expect, it } from "vitest";
import { ask, start } from "./start.ts";

const page = "https://app.example.org";

/** What a browser asks before it sends something that a form could not. */
function preflight(origin: string, path = "/v1/sessions") {
	const headers = {
		origin,
		"access-control-request-method": "POST",
		"access-control-request-headers": "authorization,content-type",
	};
	return { method: "OPTIONS", path, headers };
}

describe("pages of the allowed origins", () => {
	it("are told that they may, before they ask and with each answer", async () => {
		const server = await start({ allowedOrigins: page });
		const response = await fetch(`${server.url}/v1/sessions`, preflight(page));
		expect(response.status).toBe(204);
		expect(Object.fromEntries(response.headers)).toMatchObject({
			"access-control-allow-origin": page,
			"access-control-allow-methods": expect.stringContaining("DELETE"),
			"access-control-allow-headers": expect.stringContaining("authorization"),
			vary: "origin",
		});
		expect(response.headers.get("access-control-allow-credentials")).toBeNull();
		const id = await server.session();
		const output = await server.request(`/v1/sessions/${id}/output`, { headers: { origin: page } });
		expect(output.headers.get("access-control-allow-origin")).toBe(page);
		expect(output.headers.get("access-control-expose-headers")).toContain("hawser-next");
		// A refusal is for its page to read as well, or it would look like an outage.
		const refused = await fetch(`${server.url}/v1/sessions`, { headers: { origin: page } });
		expect(refused.status).toBe(401);
		expect(refused.headers.get("access-control-allow-origin")).toBe(page);
	});

	it("are those that are named, whole and exactly, and no others", async () => {
		const server = await start({ allowedOrigins: page });
		const others = [
			"https://app.example.org.evil.example",
			"http://app.example.org",
			"https://app.example.org:8443",
			"https://other.example.org",
			"null",
			server.url,
		];
		for (const origin of others) {
			const { status, text } = await ask(server.url, preflight(origin));
			expect({ origin, status, isAllowed: text.includes("access-control") }).toEqual({
				origin,
				status: 404,
				isAllowed: false,
			});
			const { text: read } = await ask(server.url, { method: "GET", path: "/healthz", headers: { origin } });
			expect(read).not.toContain("access-control");
		}
	});
});

it("a server that allows none says nothing of origins", async () => {
	const server = await start();
	const { status, text } = await ask(server.url, preflight(page));
	expect(status).toBe(404);
	expect(text).not.toMatch(/access-control|vary/i);
});

it("a page that made its name point at us is not told anything", async () => {
	const server = await start({ allowedOrigins: page });
	const asked = preflight(page);
	const { status, text } = await ask(server.url, { ...asked, headers: { ...asked.headers, host: "evil.example" } });
	expect(status).toBe(403);
	expect(text).not.toContain("access-control");
});
