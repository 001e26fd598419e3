import { describe, expect, it } from "vitest";
import { connect } from "../../../src/client/node/index.ts";
import { start } from "../../support/server.ts";

/** Opens a link as a browser does: loads the page and presses the button. */
async function press(url: string, headers: Record<string, string> = {}): Promise<Response> {
	const form = { "content-type": "application/x-www-form-urlencoded", origin: new URL(url).origin, ...headers };
	return fetch(url, { method: "POST", headers: form, redirect: "manual" });
}

/** The headers that a page in that browser sends from then on. */
async function shownBy(response: Response): Promise<{ cookie: string; "hawser-key": string }> {
	const [, key = ""] = /data-key="([^"]+)"/.exec(await response.text()) ?? [];
	return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "", "hawser-key": key };
}

describe("the sign-in link", () => {
	it("a sign-in page has no scripts, does not contain the code, and is not used up by viewing it", async () => {
		const { signInUrl = "" } = await start();
		const code = new URL(signInUrl).searchParams.get("code") ?? "";
		expect(code).toMatch(/^[A-Za-z0-9_-]{43}$/);
		for (const _ of [1, 2]) {
			const response = await fetch(signInUrl);
			expect(response.status).toBe(200);
			expect(response.headers.get("content-security-policy")).toEqual(
				expect.stringMatching(
					/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
				),
			);
			expect(response.headers.get("cache-control")).toBe("no-store");
			expect(response.headers.get("set-cookie")).toBeNull();
			const page = await response.text();
			expect(page).toContain('<form method="post">');
			expect(page).toContain(`<b>${new URL(signInUrl).host}</b>`);
			expect(page).toContain("<b>admin</b>");
			expect(page).not.toContain(code);
			expect(page).not.toContain("<script");
		}
		expect((await press(signInUrl)).status).toBe(200);
	});

	it("a sign-in link signs in one browser, which then has the token's rights", async () => {
		const server = await start();
		const response = await press(server.signInUrl ?? "");
		expect(response.status).toBe(200);
		expect(response.headers.get("cache-control")).toBe("no-store");
		expect(response.headers.get("content-security-policy")).toMatch(
			/^default-src 'none'; style-src '[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-anc/,
		);
		expect(response.headers.get("set-cookie")).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
		const shown = await shownBy(response);
		const { url } = server;
		expect((await fetch(`${url}/v1/sessions`, { headers: shown })).status).toBe(200);
		const post = (headers: Record<string, string>) =>
			fetch(`${url}/v1/signin-links`, { method: "POST", headers: { ...shown, ...headers } });
		expect((await post({})).status).toBe(401);
		expect((await post({ origin: "https://evil.test" })).status).toBe(403);
		expect((await post({ origin: url })).status).toBe(201);

		const again = await press(server.signInUrl ?? "");
		expect(again.status).toBe(401);
		expect(again.headers.get("set-cookie")).toBeNull();
		expect(await again.text()).toContain("no longer valid");
	});

	it("a page of another origin can't press the button of a sign-in link", async () => {
		const { signInUrl = "" } = await start();
		expect((await press(signInUrl, { origin: "https://evil.test" })).status).toBe(403);
		expect((await press(signInUrl, { origin: "null" })).status).toBe(403);
		expect((await press(signInUrl)).status).toBe(200);
	});

	it("any token makes a sign-in link for itself, and the page shows its escaped name", async () => {
		const server = await start();
		const made = await server.post("/v1/tokens", { scopes: ["workspace:red:read"], name: "<i>&" });
		const token = String(made.body.token);
		const { status, body } = await server.post("/v1/signin-links", {}, token);
		expect(await (await fetch(body.url ?? "")).text()).toContain(`<b>token:${made.body.id}:&#60;i&#62;&#38;</b>`);
		expect([status, body.url?.startsWith(`${server.url}/signin?code=`)]).toEqual([201, true]);
		const response = await press(body.url ?? "");
		const headers = { ...(await shownBy(response)), origin: server.url, "content-type": "application/json" };
		const make = await fetch(`${server.url}/v1/sessions`, {
			method: "POST",
			headers,
			body: JSON.stringify({ argv: ["true"], workspace: "red", durable: false }),
		});
		expect(make.status).toBe(403);
	});

	it.each(["/signin", "/signin?code=", "/signin?code=a&code=b", "/signin?code=%00", "/signin?other=1"])(
		"an invalid sign-in link (%s) is answered like an expired one",
		async (path) => {
			const { url } = await start();
			expect((await fetch(`${url}${path}`)).status).toBe(401);
			expect((await press(`${url}${path}`)).status).toBe(401);
		},
	);

	it("a server without authentication has no sign-in links", async () => {
		const server = await start({ auth: false });
		expect(server.signInUrl).toBeUndefined();
		expect((await fetch(`${server.url}/v1/sessions`)).status).toBe(200);
		const evil = { origin: "https://evil.test", "content-type": "application/json" };
		const request = { method: "POST", headers: evil, body: '{"argv":["true"]}' };
		expect((await fetch(`${server.url}/v1/sessions`, request)).status).toBe(403);
	});

	it("a sign-in link uses the host of the proxy or the first allowed host, also for local callers", async () => {
		const proxied = await start({ behindProxy: true, allowedHosts: "term.example" });
		const made = await connect({ stateDir: proxied.stateDir }).signInLinks.create();
		for (const link of [proxied.signInUrl, made.url]) {
			expect(link).toMatch(/^https:\/\/term\.example\/signin\?code=/);
		}
		const named = await start({ allowedHosts: "box.lan,other" });
		expect(named.signInUrl).toMatch(/^http:\/\/box\.lan:\d+\/signin\?code=/);
	});
});

describe("behind a TLS proxy", () => {
	it("the cookie is for TLS only, and pages send it", async () => {
		const server = await start({ behindProxy: true });
		const { host } = new URL(server.url);
		const link = (server.signInUrl ?? "").replace("https:", "http:");
		expect((await press(link, { origin: `http://${host}` })).status).toBe(403);
		const response = await press(link, { origin: `https://${host}` });
		expect(response.headers.get("set-cookie")).toMatch(/^__Host-hawser_session_[0-9a-f]{8}=.*; Secure$/);
		const { body } = await server.post("/v1/signin-links", {});
		expect(body.url).toMatch(/^https:/);
	});
});

describe("signing out", () => {
	it("signing out ends this browser's sign-in and removes its cookie", async () => {
		const server = await start();
		const headers = { ...(await shownBy(await press(server.signInUrl ?? ""))), origin: server.url };
		const response = await fetch(`${server.url}/v1/signout`, { method: "POST", headers });
		expect([response.status, response.headers.get("set-cookie")]).toEqual([
			204,
			expect.stringMatching(/^hawser_session_[0-9a-f]{8}=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/),
		]);
		const after = await fetch(`${server.url}/v1/sessions`, { headers });
		expect(after.status).toBe(401);
		expect((await server.request("/v1/sessions")).status).toBe(200);
	});
});

it("servers on one host keep separate sign-ins: one jar has both cookies", async () => {
	const servers = [await start(), await start()];
	const shown = await Promise.all(servers.map(async ({ signInUrl }) => shownBy(await press(signInUrl ?? ""))));
	const jar = Object.fromEntries(shown.map(({ cookie }) => cookie.split("=") as [string, string]));
	const cookie = Object.entries(jar)
		.map((pair) => pair.join("="))
		.join("; ");
	for (const [index, { url }] of servers.entries()) {
		const { status } = await fetch(`${url}/v1/sessions`, { headers: { ...shown[index], cookie, origin: url } });
		expect(status).toBe(200);
	}
});
