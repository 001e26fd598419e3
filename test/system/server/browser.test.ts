/** Sign-in in a real browser and its effects, with a hostile server on another port of the same host. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../../support/chromium.ts";
import { ask, type Started, start } from "../../support/server.ts";

/** The part of a page's API that code inside it uses. The tests run elsewhere. */
declare const localStorage: { getItem(key: string): string | null };
declare const location: { readonly origin: string };
declare const hawser: typeof import("../../../src/client/index.ts");
const APP =
	'<!doctype html><script type="module">import * as hawser from "/app/client/index.js"; Object.assign(window, { hawser })</script>';

/** Opens the link, presses the button, and waits until the page has finished. */
async function signIn(page: Page, server: Started): Promise<void> {
	await page.goto(server.signInUrl ?? "");
	await page.getByRole("button").click();
	await page.waitForURL(`${server.url}/`);
}

/** A hostile server on the same host, and the requests that browsers sent to it. */
async function stranger(): Promise<{ readonly url: string; readonly heard: IncomingHttpHeaders[] }> {
	const heard: IncomingHttpHeaders[] = [];
	const server = createServer(({ headers }, response) => {
		heard.push(headers);
		response.setHeader("content-type", "text/html");
		response.end("<!doctype html><title>Harmless</title>");
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

it("the cookie, which browsers send to every port of this host, opens nothing on its own, with any origin", async () => {
	const server = await start();
	const id = await server.session();
	const page = await (await openBrowser()).newPage();
	await signIn(page, server);
	const other = await stranger();
	await page.goto(other.url);
	const cookie = other.heard.find((headers) => headers.cookie)?.cookie ?? "";
	expect(cookie).toMatch(/^hawser_session_[0-9a-f]{8}=/);
	const forged = { cookie, origin: server.url };
	const attempts = [
		{ method: "GET", path: "/v1/sessions" },
		{ method: "GET", path: `/v1/sessions/${id}/output` },
		{ method: "POST", path: "/v1/sessions", body: '{"argv":["true"]}' },
		{ method: "POST", path: "/v1/tickets", body: JSON.stringify({ session: id }) },
		{ method: "POST", path: "/v1/tokens", body: '{"scopes":["admin"]}' },
		{ method: "GET", path: `/v1/sessions/${id}/attach`, isSocket: true },
	];
	for (const attempt of attempts) {
		expect({ ...attempt, ...(await ask(server.url, { ...attempt, headers: forged })) }).toMatchObject({ status: 401 });
	}
	// A page of the other server can't get the page key, nor use Hawser through the browser.
	const reached = await page.evaluate(async (url) => {
		const tried = await fetch(`${url}/v1/sessions`, { credentials: "include" }).then(
			({ status }) => status,
			() => "refused",
		);
		return { tried, key: localStorage.getItem("hawser-key") };
	}, server.url);
	expect(reached).toEqual({ tried: "refused", key: null });
});

it("the server's page asks a signed-out browser to sign in, and signs out", async () => {
	const server = await start();
	const page = await (await openBrowser()).newPage();
	const problems: string[] = [];
	page.on("pageerror", ({ message }) => problems.push(message));
	await page.goto(server.url);
	await page.getByRole("heading", { name: `Sign in to ${new URL(server.url).host}` }).waitFor();
	await signIn(page, server);
	await page.getByRole("heading", { name: "All sessions" }).waitFor();
	await page.getByRole("link", { name: "Settings" }).click();
	await page.getByRole("button", { name: "Sign out" }).click();
	await page.getByRole("heading", { name: "Sign in to" }).waitFor();
	expect(problems).toEqual([]);
});

it("a page of the server uses the SDK without a token, over HTTP and over a WebSocket", async () => {
	const server = await start();
	const id = await server.session();
	const page = await (await openBrowser()).newPage();
	await signIn(page, server);
	// Files of a page that another site might serve at this address.
	await page.route(`${server.url}/app/**`, (route) => {
		const path = new URL(route.request().url()).pathname.replace("/app/", "");
		if (path === "") return route.fulfill({ contentType: "text/html", body: APP });
		return route.fulfill({ path: fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url)) });
	});
	await page.goto(`${server.url}/app/`);
	const seen = await page.evaluate(async (session) => {
		const client = hawser.connect({ url: location.origin });
		const listed = (await client.sessions.list()).map(({ id }) => id);
		const attachment = client.sessions.at(session).attach();
		await attachment.write("hello\n");
		let text = "";
		while (!text.includes("hello")) {
			const { value } = await attachment.next();
			if (value?.kind === "output") text += new TextDecoder().decode(value.bytes);
		}
		await attachment.detach();
		return { listed, text };
	}, id);
	expect(seen.listed).toEqual([id]);
	expect(seen.text).toContain("hello");
});
