/** Requests to upgrade to another protocol: Java's HttpClient and `curl --http2` send one with each first request. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { allowAnyone } from "../../../src/access/fixed-access.ts";
import type { Front } from "../../../src/http/front.ts";
import { listen } from "../../../src/http/listen.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const pem = (name: string) => readFileSync(fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url)), "utf8");

/** As Java sends it. The settings are those of an HTTP/2 client. */
const h2c =
	"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA\r\n";

const echo: Front = {
	name: "echo",
	credential: () => undefined,
	register(app) {
		app.post("/echo", { config: { policy: "public" } }, async ({ body }) => body);
		app.get("/hello", { config: { policy: "public" } }, async () => "hello");
	},
};

/** Sends the text and reads until the pattern has matched this often. */
async function say(socket: Socket, words: string, wanted: RegExp, times = 1): Promise<string> {
	let text = "";
	const matched = new Promise<string>((resolve, reject) => {
		socket.on("data", (chunk: Buffer) => {
			text += chunk.toString("latin1");
			if ([...text.matchAll(new RegExp(wanted, "g"))].length >= times) resolve(text);
		});
		socket.on("close", () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
	});
	socket.write(words);
	return matched.finally(() => socket.removeAllListeners("data"));
}

function post(body: string, headers: string): string {
	const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
	return `POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}${length}\r\n${body}`;
}

it.each(["a port", "a port with TLS", "a Unix socket"])("on %s only WebSockets are upgraded", async (kind) => {
	const path = join(await temporaryDirectory(), "socket");
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [echo],
		authorize: allowAnyone,
		report: (problem) => expect.unreachable(String(problem)),
		...(kind === "a Unix socket" ? { socketPath: path } : {}),
		...(kind === "a port with TLS" ? { tls: { cert: pem("tls-cert.pem"), key: pem("tls-key.pem") } } : {}),
	});
	onTestFinished(() => listener.close());
	const address = kind === "a Unix socket" ? { path } : { host: "127.0.0.1", port: listener.port };
	const isTls = kind === "a port with TLS";
	const socket = isTls ? connectTls({ ...address, ca: pem("tls-cert.pem") }) : connect(address);
	socket.on("error", () => {});
	onTestFinished(() => void socket.destroy());
	await once(socket, isTls ? "secureConnect" : "connect");
	// One after the other on one connection: with a body, without one, and as usual.
	expect(await say(socket, post('{"a":1}', h2c), /\{"a":1\}/)).toMatch(/^HTTP\/1.1 200 /);
	const hello = `GET /hello HTTP/1.1\r\nHost: localhost\r\n${h2c}\r\n`;
	expect(await say(socket, hello, /\r\nhello|hello$/)).toMatch(/^HTTP\/1.1 200 /);
	expect(await say(socket, post('{"b":2}', h2c.replace("h2c", "TLS/1.0")), /\{"b":2\}/)).toMatch(/^HTTP\/1.1 200 /);
	expect(await say(socket, post('{"c":3}', ""), /\{"c":3\}/)).toMatch(/^HTTP\/1.1 200 /);
});

it("a client that prefers HTTP/2 starts a session and attaches to it", async () => {
	const server = await start();
	const body = JSON.stringify({ argv: ["cat"], durable: false });
	const headers = `Authorization: Bearer ${server.adminToken}\r\n${h2c}`;
	const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const answer = await say(socket, post(body, headers).replace("/echo", "/v1/sessions"), /\{"id":.*\}/);
	expect(answer).toMatch(/^HTTP\/1.1 201 /);
	const [, id] = /"id":"(\w+)"/.exec(answer) ?? [];
	const attached = new WebSocket(`${server.url.replace("http", "ws")}/v1/sessions/${id}/attach`, "hawser.v1", {
		headers: { authorization: `Bearer ${server.adminToken}` },
	});
	await once(attached, "open");
	attached.terminate();
});

it("a WebSocket upgrade combined with another protocol is refused with a reason, and can be retried", async () => {
	const server = await start();
	const id = await server.session();
	const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const request = `GET /v1/sessions/${id}/attach HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.adminToken}\r\n`;
	expect(await say(socket, `${request}${h2c}\r\n`, /"error"/)).toMatch(/^HTTP\/1.1 400 /);
	expect(await say(socket, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", /"ok"/)).toMatch(/^HTTP\/1.1 200 /);
});
