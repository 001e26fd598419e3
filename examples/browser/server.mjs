#!/usr/bin/env node
/**
 * A shell in a web page: this server starts it and hands out tickets, the page draws it with xterm.js.
 *
 *   npm install ./hawser-0.1.0.tgz @xterm/xterm       # the package that the README's npm pack makes
 *   hawser serve --allowed-origins http://127.0.0.1:8080
 *   node examples/browser/server.mjs
 *
 * It listens on loopback and lets in everybody who reaches it. A real one would first ask who they are.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "hawser/client";

const port = Number(process.env.PORT ?? 8080);
const url = process.env.HAWSER_URL ?? "http://127.0.0.1:7707";
const client = connect();
const shell = await client.sessions.create({ argv: ["bash"] });

const sdk = import.meta.resolve("hawser/client");
const xterm = import.meta.resolve("@xterm/xterm");
const files = {
	"/": new URL("index.html", import.meta.url),
	"/page.js": new URL("page.js", import.meta.url),
	"/xterm.mjs": new URL("xterm.mjs", xterm),
	"/xterm.css": new URL("../css/xterm.css", xterm),
};
const types = { html: "text/html", js: "text/javascript", mjs: "text/javascript", css: "text/css" };

const server = createServer((request, response) => {
	answer(request, response).catch((error) => {
		// The page retries while the Hawser server is unreachable.
		console.error(`${request.method} ${request.url}: ${error.message}`);
		if (response.headersSent) response.destroy();
		else response.writeHead(error.code === "node_unavailable" ? 503 : 500).end();
	});
});

async function answer(request, response) {
	// Under another host name, a page of another site could be same-origin with this one.
	if (request.headers.host !== `127.0.0.1:${port}`) return response.writeHead(403).end();
	if (request.method === "POST" && request.url === "/ticket") {
		const { ticket } = await client.tickets.create({ session: shell.id, right: "operate" });
		return response.setHeader("Content-Type", "application/json").end(JSON.stringify({ url, id: shell.id, ticket }));
	}
	const [, part] = /^\/hawser\/((?:client|api|words|async)\/[\w/-]+\.js)$/.exec(request.url) ?? [];
	const file = part === undefined ? files[request.url] : new URL(`../../${part}`, sdk);
	if (file === undefined) return response.writeHead(404).end();
	const [, ending] = /\.(\w+)$/.exec(file.pathname);
	return response.setHeader("Content-Type", types[ending]).end(await readFile(file));
}

server.listen(port, "127.0.0.1", () => console.log(`a shell is at http://127.0.0.1:${port}`));
