/** The SDK in pages of a real browser from another origin than the server's. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../../support/chromium.ts";
import { type Started, start } from "../../support/server.ts";

declare class EventSource {
	constructor(url: string);
	readonly readyState: number;
	onerror: (() => void) | null;
	addEventListener(kind: string, listener: () => void): void;
}
declare const hawser: typeof import("../../../src/client/index.ts");
const APP =
	'<!doctype html><script type="module">import * as hawser from "/client/index.js"; Object.assign(window, { hawser })</script>';

/** A site of another origin that serves the SDK's files. */
async function site(): Promise<string> {
	const server = createServer(async ({ url = "/" }, response) => {
		if (url === "/") return response.setHeader("content-type", "text/html").end(APP);
		const file = fileURLToPath(new URL(`../../../dist${url}`, import.meta.url));
		const text = await readFile(file).catch(() => undefined);
		return response.writeHead(text === undefined ? 404 : 200, { "content-type": "text/javascript" }).end(text);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function open(): Promise<{ page: Page; server: Started; origin: string }> {
	const origin = await site();
	const server = await start({ allowedOrigins: origin });
	const page = await (await openBrowser()).newPage();
	await page.goto(origin);
	await page.waitForFunction("window.hawser");
	return { page, server, origin };
}

it("a page of an allowed origin uses every operation with a token, and can read refusals", async () => {
	const { page, server } = await open();
	const seen = await page.evaluate(
		async ({ url, token }) => {
			const { sessions } = hawser.connect({ url, token });
			const session = await sessions.create({ command: "read line; echo got $line", durable: false });
			const attachment = session.attach();
			await attachment.write("this\n");
			const found = await session.wait({ match: /got (\w+)/ });
			await attachment.detach();
			const { next } = await session.output();
			await session.remove();
			const refused = await hawser
				.connect({ url, token: "wrong" })
				.sessions.list()
				.catch((error) => ({ code: error.code, status: error.status }));
			return { word: found.kind === "match" && found.match[1], isRead: next > 0, refused };
		},
		{ url: server.url, token: server.adminToken },
	);
	expect(seen).toEqual({ word: "this", isRead: true, refused: { code: "unauthenticated", status: 401 } });
});

it("a page of an origin that is not allowed gets an error with a remedy", async () => {
	const { page, origin } = await open();
	const server = await start();
	const error = await page.evaluate(
		({ url, token }) =>
			hawser
				.connect({ url, token })
				.sessions.list()
				.catch(({ code, hint }) => ({ code, hint })),
		{ url: server.url, token: server.adminToken },
	);
	expect(error).toEqual({ code: "node_unavailable", hint: expect.stringContaining(`--allowed-origins ${origin}`) });
});

it("an attachment from an origin that is not allowed reports a remedy", async () => {
	const { page, origin } = await open();
	const server = await start();
	const id = await server.session();
	const seen = await page.evaluate(
		async ({ url, token, id: session }) => {
			const attachment = hawser.connect({ url, token }).sessions.at(session).attach();
			const { value } = await attachment.next();
			await attachment.detach();
			if (value?.kind !== "connection" || value.state !== "disconnected") return value?.kind;
			return { code: value.error.code, hint: value.error.hint };
		},
		{ url: server.url, token: server.adminToken, id },
	);
	expect(seen).toEqual({ code: "node_unavailable", hint: expect.stringContaining(`--allowed-origins ${origin}`) });
});

it("a page without a token attaches with tickets made by its site, again after a lost connection", async () => {
	const { page, server } = await open();
	const id = await server.session();
	const made: string[] = [];
	await page.exposeFunction("newTicket", async () => {
		const { body } = await server.post("/v1/tickets", { session: id, right: "operate" });
		made.push(String(body.ticket));
		return body.ticket;
	});
	const seen = await page.evaluate(
		async ({ url, id: session }) => {
			const { newTicket } = globalThis as unknown as { newTicket: () => Promise<string> };
			const sockets: { close(): void }[] = [];
			const { WebSocket: Own } = globalThis as unknown as { WebSocket: new (...all: never[]) => { close(): void } };
			class Noted extends Own {
				constructor(...all: never[]) {
					super(...all);
					sockets.push(this);
				}
			}
			const client = hawser.connect({ url, WebSocket: Noted as never });
			const attachment = client.sessions.at(session).attach({ ticket: newTicket });
			await attachment.write("one\n");
			sockets[0]?.close();
			await attachment.write("two\n");
			await attachment.detach();
			const once = client.sessions.at(session).attach({ ticket: await newTicket() });
			await once.write("three\n");
			sockets.at(-1)?.close();
			const end = await once.write("four\n").then(
				() => "written",
				({ code }) => code,
			);
			return { connections: sockets.length, end };
		},
		{ url: server.url, id },
	);
	expect(seen).toEqual({ connections: 3, end: "unauthenticated" });
	expect(made.length).toBe(3);
});

it("an EventSource reads a session to its end and does not reconnect", async () => {
	const { page, server } = await open();
	const { body } = await server.post("/v1/sessions", {
		command: "printf one; printf two",
		mode: "pipe",
		durable: false,
	});
	// Tokens do not belong in URLs and an EventSource sets no headers, so such a page has a proxy that adds one.
	await page.route(`${server.url}/**`, (route) =>
		route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${server.adminToken}` } }),
	);
	const asked: (string | undefined)[] = [];
	page.on("request", (request) => asked.push(request.headers()["last-event-id"]));
	const seen = await page.evaluate(
		(url) =>
			new Promise<string[]>((resolve) => {
				const kinds: string[] = [];
				const source = new EventSource(url);
				for (const kind of ["output", "exited", "closed"]) source.addEventListener(kind, () => kinds.push(kind));
				// The browser closes it for good.
				source.onerror = () => source.readyState === 2 && resolve(kinds);
			}),
		`${server.url}/v1/sessions/${body.id}/output`,
	);
	expect(seen.filter((kind) => kind !== "output")).toEqual(["exited", "closed"]);
	expect(asked.length).toBe(2);
});
