import { describe, expect, it } from "vitest";
import { ask, start } from "../../support/server.ts";

const page = "https://app.example.org";

/** CORS preflights: requests that a browser sends before a request that a form could not send. */
function preflight(origin: string, path = "/v1/sessions") {
	const headers = {
		origin,
		"access-control-request-method": "POST",
		"access-control-request-headers": "authorization,content-type",
	};
	return { method: "OPTIONS", path, headers };
}

describe("CORS with allowed origins", () => {
	it("pages of allowed origins are permitted in preflights and in every answer", async () => {
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
		// Pages must be able to read refusals, or they would look like outages.
		const refused = await fetch(`${server.url}/v1/sessions`, { headers: { origin: page } });
		expect(refused.status).toBe(401);
		expect(refused.headers.get("access-control-allow-origin")).toBe(page);
	});

	it("only the named origins are allowed, compared whole and exactly", async () => {
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

it("a server without allowed origins sends no CORS headers", async () => {
	const server = await start();
	const { status, text } = await ask(server.url, preflight(page));
	expect(status).toBe(404);
	expect(text).not.toMatch(/access-control|vary/i);
});

it("a page that rebinds its host name to the server gets no CORS headers", async () => {
	const server = await start({ allowedOrigins: page });
	const asked = preflight(page);
	const { status, text } = await ask(server.url, { ...asked, headers: { ...asked.headers, host: "evil.example" } });
	expect(status).toBe(403);
	expect(text).not.toContain("access-control");
});
