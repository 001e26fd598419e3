import { get } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../../src/api/messages.ts";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";

let server: TestServer;
let id: string;
beforeAll(async () => {
	server = await startTestServer({ maxRunning: 2 });
	({ id } = await server.create({ argv: ["cat"], mode: "pipe" }));
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

async function answer(path: string, init?: RequestInit): Promise<{ status: number; code: string; message: string }> {
	const response = await server.request(path, init);
	const { error } = (await response.json()) as { error: { code: string; message: string } };
	return { status: response.status, ...error };
}

const argv = ["true"];
const refused: [what: string, body: unknown, names: string][] = [
	["no program", {}, "argv, command"],
	["two programs", { argv, command: "true" }, "argv, command"],
	["no arguments", { argv: [] }, "argv"],
	["an empty program", { argv: [""] }, "argv.0"],
	["a number for an argument", { argv: ["a", 1] }, "argv.1"],
	["a zero byte in an argument", { argv: ["a", "b\0c"] }, "argv.1"],
	["an empty command", { command: "" }, "command"],
	["an unknown key", { argv, colums: 80 }, "colums"],
	["0 columns", { argv, cols: 0 }, "cols"],
	["-1 rows", { argv, rows: -1 }, "rows"],
	["65536 columns", { argv, cols: 65536 }, "cols"],
	["half a row", { argv, rows: 1.5 }, "rows"],
	["columns as text", { argv, cols: "80" }, "cols"],
	["null columns", { argv, cols: null }, "cols"],
	["a relative folder", { argv, cwd: "tmp" }, "cwd"],
	["a zero byte in the folder", { argv, cwd: "/tmp\0" }, "cwd"],
	["a number in the environment", { argv, env: { A: 1 } }, "env.A"],
	["an equals sign in a variable's name", { argv, env: { "A=B": "" } }, "env.A=B"],
	["an empty variable name", { argv, env: { "": "x" } }, "env"],
	["an unknown mode", { argv, mode: "tty" }, "mode"],
	["an empty name", { argv, name: "" }, "name"],
	["a long name", { argv, name: "x".repeat(65) }, "name"],
	["an escape in the name", { argv, name: "a\u001b[31m" }, "name"],
	["an invisible character in the name", { argv, name: "prod\u200b" }, "name"],
	["an invisible character in a label", { argv, labels: { stage: "prod\u{e0041}" } }, "labels.stage"],
	["a newline in the name", { argv, name: "a\nb" }, "name"],
	[
		"too many labels",
		{ argv, labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${n}`, ""])) },
		"labels",
	],
	["a label with a bad name", { argv, labels: { "a b": "" } }, "labels.a b"],
	["a label too long", { argv, labels: { a: "x".repeat(257) } }, "labels.a"],
	["a path for a workspace", { argv, workspace: "../x" }, "workspace"],
	["a negative timeout", { argv, timeoutMs: -1 }, "timeoutMs"],
	["a fractional timeout", { argv, idleTimeoutMs: 0.5 }, "idleTimeoutMs"],
	["durable as text", { argv, durable: "yes" }, "durable"],
	["an unknown key inside", { argv, retain: { diskBytes: 1 } }, "retain.diskBytes"],
	["a negative limit inside", { argv, retain: { memoryBytes: -1 } }, "retain.memoryBytes"],
	["an unknown input", { argv, stdin: "pipe" }, "stdin"],
	["a list instead of an object", [], "body"],
	["nothing", null, "body"],
];

describe("POST /v1/sessions refuses", () => {
	it.each(refused)("POST /v1/sessions refuses invalid members: %s", async (_, body, names) => {
		const { status, code, message } = await answer("/v1/sessions", {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		expect({ status, code }).toEqual({ status: 400, code: "invalid_argument" });
		expect(message).toContain(names);
	});

	it.each([
		["broken JSON", '{"argv":', 400, "invalid_argument"],
		["a deep list", "[".repeat(500_000) + "]".repeat(500_000), 429, "limit_exceeded"],
		[
			"a list of the greatest depth a body can have",
			"[".repeat(8_000_000) + "]".repeat(8_000_000),
			429,
			"limit_exceeded",
		],
		["such a list in a field", `{"argv":${"[".repeat(8_000_000)}${"]".repeat(8_000_000)}}`, 429, "limit_exceeded"],
		["a poisoned prototype", '{"argv":["true"],"__proto__":{}}', 400, "invalid_argument"],
		["the most values a body can have", `{"argv":["true"${',""'.repeat(5_000_000)}]}`, 429, "limit_exceeded"],
		["a huge body", JSON.stringify({ argv: ["x".repeat(limits.startBytes)] }), 413, "limit_exceeded"],
	])("POST /v1/sessions refuses a hostile body: %s", async (_, body, status, code) => {
		const init = { method: "POST", headers: { "content-type": "application/json" }, body };
		expect(await answer("/v1/sessions", init)).toMatchObject({ status, code });
	});

	it.each([
		['{"argv":["true"],"__proto__":{}}'],
		['{"argv":["true"],"env":{"__proto__":"x"}}'],
		['{"argv":["true"],"labels":{"constructor":{"prototype":{}}}}'],
	])("a name that would change an object's prototype is refused by its name, not as invalid JSON: %s", async (body) => {
		const init = { method: "POST", headers: { "content-type": "application/json" }, body };
		const { status, code, message } = await answer("/v1/sessions", init);
		expect([status, code, message]).toEqual([400, "invalid_argument", expect.stringContaining("__proto__")]);
		expect(message).not.toContain("JSON");
	});

	it("POST /v1/sessions refuses text that is not JSON", async () => {
		const init = { method: "POST", headers: { "content-type": "text/html" }, body: "{}" };
		const refusal = { status: 415, code: "invalid_argument", message: expect.stringContaining("content type") };
		expect(await answer("/v1/sessions", init)).toMatchObject({ ...refusal, hint: "send it as application/json" });
		expect(await answer("/v1/sessions/none/input", init)).toMatchObject({
			...refusal,
			hint: "send it as application/octet-stream",
		});
	});

	it("POST /v1/sessions refuses one session more than the limit", async () => {
		const { id: second } = await server.create({ argv: ["cat"] });
		const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"argv":["cat"]}' };
		expect(await answer("/v1/sessions", init)).toMatchObject({ status: 429, code: "limit_exceeded" });
		await server.request(`/v1/sessions/${second}`, { method: "DELETE" });
	});
});

describe("queries and headers", () => {
	it.each([
		["output?since=-1", "since"],
		["output?since=1.5", "since"],
		["output?since=abc", "since"],
		["output?since=", "since"],
		["output?since=1e3", "since"],
		["output?since=99999999999999999999", "since"],
		["output?since=1&since=2", "since"],
		["output?max=0", "max"],
		["output?wait=-5", "wait"],
		["output?from=1", "from"],
	])("GET %s is refused", async (path, names) => {
		const { status, code, message } = await answer(`/v1/sessions/${id}/${path}`);
		expect({ status, code }).toEqual({ status: 400, code: "invalid_argument" });
		expect(message).toContain(names);
	});

	it.each([
		["limit=0", "limit"],
		["limit=1001", "limit"],
		["state=asleep", "state"],
		["after=nosuchsession", "after"],
		["colour=red", "colour"],
	])("GET /v1/sessions?%s is refused", async (query, names) => {
		const { status, message } = await answer(`/v1/sessions?${query}`);
		expect(status).toBe(400);
		expect(message).toContain(names);
	});

	it.each([["abc"], [":5"], ["a:"], ["a:-1"], ["a:1.5"], ["a:99999999999999999"], [`${"x".repeat(129)}:0`]])(
		"the key %s is refused",
		async (key) => {
			const headers = { "content-type": "application/octet-stream", "idempotency-key": key };
			const { status, message } = await answer(`/v1/sessions/${id}/input`, { method: "POST", headers, body: "x" });
			expect(status).toBe(400);
			expect(message).toContain("idempotency-key");
		},
	);

	it.each(["keep=1", "force=yes", "signal=kill%20me", "graceMs=-1", "graceMs=600001"])(
		"DELETE ?%s is refused",
		async (query) => {
			expect(await answer(`/v1/sessions/${id}?${query}`, { method: "DELETE" })).toMatchObject({ status: 400 });
		},
	);

	it("input without the content type of bytes is refused", async () => {
		const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
		expect(await answer(`/v1/sessions/${id}/input`, init)).toMatchObject({ status: 400, code: "invalid_argument" });
		const large = {
			method: "POST",
			headers: { "content-type": "application/octet-stream" },
			body: Buffer.alloc(1024 * 1024 + 1),
		};
		expect(await answer(`/v1/sessions/${id}/input`, large)).toMatchObject({ status: 413, code: "limit_exceeded" });
	});

	it.each(["/v1/sessions/nosuchsession", "/v1/sessions/..%2f..%2fetc", "/v1/sessions/nosuchsession/output"])(
		"%s is not found",
		async (path) => {
			expect(await answer(path)).toMatchObject({ status: 404, code: "session_not_found" });
		},
	);

	it.each([
		["a path that can't be decoded", "GET /v1/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400],
		["no HTTP at all", "hello\r\n\r\n", 400],
		["headers without end", `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`, 431],
	])("%s is refused in the same format", async (_, raw, status) => {
		const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
		socket.write(raw);
		const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
		expect(head).toContain(`HTTP/1.1 ${status} `);
		expect(JSON.parse(body)).toEqual({ error: { code: "invalid_argument", message: expect.any(String) } });
	});

	it("an unknown path is reported as such", async () => {
		expect(await answer("/v1/nothing?token=secret")).toEqual({
			status: 404,
			code: "not_found",
			message: "there is no GET /v1/nothing",
		});
	});
});

describe("authentication and hosts", () => {
	it.each([
		["no token", {}],
		["a wrong token", { authorization: "Bearer wrong" }],
		["an empty token", { authorization: "Bearer " }],
		["another scheme", { authorization: `Basic ${TOKEN}` }],
		["a longer token", { authorization: `Bearer ${TOKEN}x` }],
	])("%s is refused on every route except the health check", async (_, headers: Record<string, string>) => {
		const calls: [string, string][] = [
			["POST", "/v1/sessions"],
			["GET", "/v1/sessions"],
			["GET", `/v1/sessions/${id}`],
			["DELETE", `/v1/sessions/${id}`],
			["POST", `/v1/sessions/${id}/input`],
			["GET", `/v1/sessions/${id}/output`],
			["GET", "/v1/sessions/nosuchsession"],
		];
		for (const [method, path] of calls) {
			const response = await fetch(server.url + path, { method, headers });
			expect(response.status).toBe(401);
			expect(response.headers.get("www-authenticate")).toBe("Bearer");
			expect(await response.json()).toMatchObject({ error: { code: "unauthenticated" } });
		}
		const health = await fetch(`${server.url}/healthz`, { headers });
		expect(await health.json()).toEqual({ status: "ok", version: "0.0.0-test" });
	});

	it.each([
		["localhost:1", 200],
		["127.0.0.1", 200],
		["[::1]:7707", 200],
		["LOCALHOST", 200],
		["attacker.example", 403],
		["localhost.attacker.example:7707", 403],
		["127.0.0.1.nip.io", 403],
	])("a request for the host %j is answered with %i", async (host, status) => {
		const answered = await new Promise((resolve, reject) => {
			const options = { headers: { host } };
			get(`${server.url}/healthz`, options, (response) => resolve(response.resume().statusCode)).on("error", reject);
		});
		expect(answered).toBe(status);
	});

	it("a request without a host gets no answer", async () => {
		const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
		socket.end("GET /healthz HTTP/1.0\r\n\r\n");
		expect(await text(socket)).toContain("403 Forbidden");
	});
});
