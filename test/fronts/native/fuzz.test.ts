import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { TestSocket } from "../../support/socket-client.ts";

/** The permitted growth of the process: far more than expected, far less than a leak. */
const MAX_GROWTH_BYTES = 400 * 1024 * 1024;
/** A connection that takes longer than this to answer or close hangs. */
const PATIENCE_MS = 8_000;

let server: TestServer;
let id: string;
let before: number;
beforeAll(async () => {
	server = await startTestServer({
		maxRunning: 20,
		socketLimits: { helloMs: 150, closeMs: 100, lastAckMs: 100, ackMs: 300 },
	});
	({ id } = await server.create({ argv: ["cat"], mode: "pipe" }));
	before = process.memoryUsage().rss;
});
afterAll(async () => {
	expect(process.memoryUsage().rss - before).toBeLessThan(MAX_GROWTH_BYTES);
	await server.close();
	expect(server.problems).toEqual([]);
});

async function isHealthy(): Promise<void> {
	const response = await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
	expect(response.status).toBe(200);
}

const numbers = fc.oneof(
	fc.constantFrom(0, 1, -1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 64, -0, 1e308),
	fc.integer(),
	fc.double(),
);
const values = fc.oneof(
	numbers,
	fc.string(),
	fc.boolean(),
	fc.constant(null),
	fc.constantFrom("end", "writer", "lossless"),
);
const types = fc.constantFrom(
	"hello",
	"resize",
	"signal",
	"eof",
	"take",
	"release",
	"ping",
	"pong",
	"nothing",
	"__proto__",
);
const message = fc
	.record(
		{
			type: fc.oneof({ weight: 9, arbitrary: types }, { weight: 1, arbitrary: values }),
			since: values,
			role: values,
			flow: values,
			stream: values,
			position: numbers,
			cols: numbers,
			rows: numbers,
			signal: fc.oneof(fc.constantFrom("INT", "WINCH", "CONT", "URG"), fc.string()),
			exclusive: values,
			force: values,
			nonce: fc.string({ maxLength: 300 }),
		},
		{ requiredKeys: ["type"] },
	)
	.map((one) => JSON.stringify(one));
const text = fc.oneof(
	message,
	fc.json(),
	fc.string({ maxLength: 200 }),
	fc.nat(70_000).map((length) => `"${"x".repeat(length)}"`),
	fc.nat(20_000).map((depth) => "[".repeat(depth)),
);
const frame = fc.oneof(
	fc.uint8Array({ maxLength: 40 }),
	// A valid head first: positions and offsets of every size, overlapping and ahead.
	fc
		.record({
			kind: fc.constantFrom(0, 4, 1, 0x80, 5),
			position: fc.oneof(fc.bigInt({ min: 0n, max: 20n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
			rest: fc.uint8Array({ maxLength: 2000 }),
		})
		.map(({ kind, position, rest }) => {
			const bytes = new Uint8Array(9 + rest.length);
			bytes[0] = kind;
			new DataView(bytes.buffer).setBigUint64(1, position);
			bytes.set(rest, 9);
			return bytes;
		}),
);
const hello = JSON.stringify({ type: "hello", since: 0, role: "writer", flow: "live" });

describe("random messages over a WebSocket", () => {
	it("a random message is answered or closes the connection, and the server survives", async () => {
		await fc.assert(
			fc.asyncProperty(fc.boolean(), fc.array(fc.oneof(text, frame), { maxLength: 12 }), async (isGreeting, sent) => {
				const client = new TestSocket(server.url, id);
				await client.opened();
				if (isGreeting) client.socket.send(hello);
				for (const one of sent) client.socket.send(one);
				client.socket.close();
				const timer = setTimeout(() => client.cut(), PATIENCE_MS);
				const { code } = await client.closed;
				clearTimeout(timer);
				// 1006 would be the server's own cut after its timeout; 1005 is the client's own close, answered.
				expect([1000, 1005, 4000, 4001, 4008, 4009]).toContain(code);
			}),
			{ numRuns: 150 },
		);
		await isHealthy();
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.attachments).toBe(0);
	}, 60_000);

	it("a peer that does not speak WebSocket is handled, too", async () => {
		await fc.assert(
			fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
				const client = new TestSocket(server.url, id);
				await client.opened();
				const raw = (client.socket as unknown as { _socket: import("node:net").Socket })._socket;
				raw.write(bytes);
				client.socket.close();
				const timer = setTimeout(() => client.cut(), PATIENCE_MS);
				await client.closed;
				clearTimeout(timer);
			}),
			{ numRuns: 50 },
		);
		await isHealthy();
	}, 60_000);
});

describe("random HTTP requests", () => {
	const segment = fc.oneof(
		fc.constantFrom(
			"v1",
			"sessions",
			"output",
			"input",
			"attach",
			"keys",
			"..",
			"%2e%2e",
			"%00",
			"%ff",
			"a%2fb",
			";",
			"",
		),
		fc.string({ maxLength: 30 }).map((one) => encodeURIComponent(one)),
		fc.nat(5000).map((length) => "x".repeat(length)),
	);
	const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
	const query = fc
		.array(fc.tuple(fc.constantFrom("since", "max", "wait", "limit", "keep", "label", "x"), values), { maxLength: 4 })
		.map((pairs) => pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&"));

	/** A request as bytes, because no client would send some of these. */
	async function raw(head: string, body: Uint8Array | string = ""): Promise<string> {
		const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1" });
		socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("no answer in time")));
		socket.write(head, "latin1");
		socket.end(body);
		let answer = "";
		for await (const chunk of socket) answer += (chunk as Buffer).toString("latin1");
		return answer;
	}
	const line = (method: string, target: string, more: string[] = []) =>
		`${[`${method} ${target} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${TOKEN}`, "Connection: close", ...more].join("\r\n")}\r\n\r\n`;

	it("a random path or query is answered with a status and causes no internal error", async () => {
		const methods = fc.constantFrom("GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS");
		const target = fc.oneof(path, fc.constant(`/v1/sessions/${id}/output`), fc.constant("/v1/sessions"));
		await fc.assert(
			fc.asyncProperty(methods, target, query, async (method, where, what) => {
				// Waiting for output answers a long wait; ending the session answers DELETE.
				if (/wait=\d{3}/.test(what) || (method === "DELETE" && where.includes(id))) return;
				const answer = await raw(line(method, what === "" ? where : `${where}?${what}`));
				expect(answer).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
				expect(answer).not.toMatch(/^HTTP\/1\.1 500/);
			}),
			{ numRuns: 300 },
		);
		await isHealthy();
	}, 60_000);

	it("a random body is refused by name or accepted", async () => {
		const body = fc.oneof(
			fc.json(),
			fc.string({ maxLength: 300 }),
			fc
				.record(
					{
						argv: fc.oneof(fc.array(values), values),
						cols: values,
						rows: values,
						name: values,
						env: fc.json(),
						mode: values,
					},
					{ requiredKeys: [] },
				)
				.map((one) => JSON.stringify(one)),
			fc
				.record({ keys: fc.array(fc.string()), cols: values, rows: values, signal: values }, { requiredKeys: [] })
				.map((one) => JSON.stringify(one)),
		);
		const targets = fc.constantFrom(
			"/v1/sessions",
			...["keys", "resize", "input"].map((act) => `/v1/sessions/${id}/${act}`),
		);
		await fc.assert(
			fc.asyncProperty(targets, body, async (target, content) => {
				const headers = { "content-type": "application/json" };
				const response = await server.request(target, { method: "POST", headers, body: content });
				const answer = (await response.json()) as { id?: string; error?: { message: string } };
				expect([200, 201, 400, 415, 422, 429, 501]).toContain(response.status);
				if (response.status >= 400) expect(answer.error?.message).toEqual(expect.any(String));
				if (answer.id) await server.sessions.remove(answer.id);
			}),
			{ numRuns: 200 },
		);
		await isHealthy();
	}, 60_000);

	it("random headers are handled", async () => {
		const name = fc.constantFrom(
			"Idempotency-Key",
			"Last-Event-ID",
			"Accept",
			"Upgrade",
			"Cookie",
			"Origin",
			"X",
			"Content-Length",
			"Expect",
		);
		const value = fc.oneof(
			fc.string({ maxLength: 100 }),
			fc.constantFrom("s:-1", "s:1.5", "s:99999999999999999999", ":0", "websocket", "text/event-stream;q=x"),
		);
		await fc.assert(
			fc.asyncProperty(name, value, async (header, content) => {
				const clean = content.replace(/[\r\n]/g, " ");
				const answer = await raw(line("POST", `/v1/sessions/${id}/input`, [`${header}: ${clean}`]));
				// An unparseable request may be cut off without an answer.
				if (answer !== "") expect(answer).toMatch(/^HTTP\/1\.1 [1-4]\d\d /);
			}),
			{ numRuns: 150 },
		);
		await isHealthy();
	}, 60_000);
});
