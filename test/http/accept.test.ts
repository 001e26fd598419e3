import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { allowAnyone } from "../../src/access/fixed-access.ts";
import { SessionError } from "../../src/core/errors.ts";
import type { Credentials } from "../../src/core/policy/access.ts";
import type { Front } from "../../src/http/front.ts";
import { listen } from "../../src/http/listen.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const fixture = (name: string) => readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), "utf8");
const authorization = `Bearer ${TOKEN}`;

type Answer = { status: number | undefined; body: string };

/** Sends one request over an existing connection. */
function ask(connection: Duplex, path: string, headers: Record<string, string> = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const options = { path, headers: { host: "localhost", ...headers }, createConnection: () => connection };
		httpRequest(options, async (response) => {
			let body = "";
			for await (const chunk of response) body += chunk;
			resolve({ status: response.statusCode, body });
		})
			.on("error", reject)
			.end();
	});
}

/** The first text message on a WebSocket after our `hello`, over an existing connection. */
async function greet(connection: Duplex, id: string): Promise<{ type: string; socket: WebSocket }> {
	const socket = new WebSocket(`ws://localhost/v1/sessions/${id}/attach`, "hawser.v1", {
		headers: { authorization },
		createConnection: () => connection as never,
	});
	await once(socket, "open");
	socket.send(JSON.stringify({ type: "hello", since: 0, role: "writer", flow: "lossless" }));
	const [data] = (await once(socket, "message")) as [Buffer];
	return { type: (JSON.parse(data.toString()) as { type: string }).type, socket };
}

describe("accept", () => {
	let server: TestServer;
	beforeEach(async () => {
		server = await startTestServer();
	});
	afterEach(() => server.close());
	const connect = (): Duplex => {
		const [ours, theirs] = duplexPair();
		server.accept(theirs);
		return ours;
	};

	it("accept serves a connection behind the same door as the port", async () => {
		expect(await ask(connect(), "/healthz")).toMatchObject({ status: 200 });
		expect(await ask(connect(), "/v1/sessions")).toMatchObject({ status: 401 });
		expect(await ask(connect(), "/v1/sessions", { authorization })).toMatchObject({ status: 200 });
		expect(await ask(connect(), "/v1/sessions", { authorization, host: "elsewhere" })).toMatchObject({ status: 403 });
	});

	it("an accepted connection can become a WebSocket, and ends if the upgrade is refused", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe", durable: false });
		const { type, socket } = await greet(connect(), id);
		expect(type).toBe("welcome");
		socket.terminate();
		const [ours, theirs] = duplexPair();
		server.accept(theirs);
		const closed = once(theirs, "close");
		const headers = { authorization, connection: "upgrade", upgrade: "websocket" };
		expect(await ask(ours, "/v1/sessions/unknown/attach", headers)).toMatchObject({ status: 404 });
		await closed;
	});

	it("accept takes a Unix socket", async () => {
		const path = join(await temporaryDirectory(), "http.sock");
		const door: Server = createServer((connection) => server.accept(connection)).listen(path);
		onTestFinished(() => void door.close());
		await once(door, "listening");
		const { id } = await server.create({ argv: ["cat"], mode: "pipe", durable: false });
		const status = await new Promise((resolve, reject) => {
			const options = { socketPath: path, path: `/v1/sessions/${id}`, headers: { host: "localhost", authorization } };
			httpRequest(options, (response) => {
				response.resume();
				resolve(response.statusCode);
			})
				.on("error", reject)
				.end();
		});
		expect(status).toBe(200);
		const socket = new WebSocket(`ws+unix://${path}:/v1/sessions/${id}/attach`, "hawser.v1", {
			headers: { authorization, host: "localhost" },
		});
		await once(socket, "open");
		socket.terminate();
	});

	it("an accepted connection ends with the server, and none is accepted afterwards", async () => {
		const connection = connect();
		const { id } = await server.create({ argv: ["cat"], mode: "pipe", durable: false });
		const { socket } = await greet(connection, id);
		const closed = once(socket, "close");
		await server.close();
		expect((await closed)[0]).toBe(1001);
		const [, late] = duplexPair();
		server.accept(late);
		expect(late.destroyed).toBe(true);
	});

	it("an accepted connection has ended once the server is closed, even if its client reads no answer", async () => {
		const [ours, theirs] = duplexPair();
		server.accept(theirs);
		const { id } = await server.create({ command: "head -c 4000000 /dev/zero; read x", mode: "pipe", durable: false });
		const head = [`GET /v1/sessions/${id}/output HTTP/1.1`, "host: localhost", "accept: text/event-stream"];
		ours.write(`${[...head, `authorization: ${authorization}`].join("\r\n")}\r\n\r\n`);
		await once(ours, "readable");
		await server.close();
		expect(theirs.destroyed).toBe(true);
	});
});

const front: Front = {
	name: "small",
	credential: () => undefined,
	register: (app) =>
		void app.get("/me", { config: { policy: "read" } }, async ({ principal }) => ({ name: principal?.name })),
};

it("an accepted connection identifies its peer", async () => {
	const [ours, theirs] = duplexPair();
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		authorize: async (caller: Credentials) => {
			if (caller.connection !== theirs) throw new SessionError("unauthenticated", "unknown connection");
			return { ...(await allowAnyone(caller)), name: "the gateway" };
		},
		report: (problem) => expect.unreachable(String(problem)),
	});
	onTestFinished(() => listener.close());
	listener.accept(theirs);
	expect(await ask(ours, "/me")).toEqual({ status: 200, body: '{"name":"the gateway"}' });
	expect((await fetch(`${listener.url}/me`)).status).toBe(401);
});

it("a server with TLS accepts connections as they are, outside the port's limit", async () => {
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		authorize: allowAnyone,
		tls: { cert: fixture("tls-cert.pem"), key: fixture("tls-key.pem") },
		maxConnections: 1,
		report: (problem) => expect.unreachable(String(problem)),
	});
	onTestFinished(() => listener.close());
	const [ours, theirs] = duplexPair();
	listener.accept(theirs);
	const [more, theirMore] = duplexPair();
	listener.accept(theirMore);
	for (const connection of [ours, more]) expect(await ask(connection, "/me")).toMatchObject({ status: 200 });
});
