import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as turn } from "node:timers/promises";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeCodes } from "../../../src/api/socket.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Access } from "../../../src/core/policy/access.ts";
import { createAccessFront } from "../../../src/fronts/native/access/front.ts";
import { createNativeFront } from "../../../src/fronts/native/front.ts";
import type { NativeOptions } from "../../../src/fronts/native/options.ts";
import { createBudgets } from "../../../src/http/limits/budgets.ts";
import type { Route } from "../../../src/http/listen.ts";
import { createMetrics } from "../../../src/services/metrics/server-metrics.ts";
import { createTrafficCounters } from "../../../src/services/metrics/traffic.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { TestSocket } from "../../support/socket-client.ts";

type Operation = {
	operationId: string;
	security: object[];
	parameters: { name: string; in: string }[];
	responses: object;
};
type Description = { openapi: string; paths: Record<string, Record<string, Operation>> };

let server: TestServer;
const routes: Route[] = [];
beforeAll(async () => {
	server = await startTestServer({
		principals: { reader: principalWith(["read"]) },
		// Its routes are in the API description. Their behavior is tested elsewhere.
		fronts: ({ sessions }) => [
			createAccessFront({ access: {} as Access, sessions, basePath: "", publicUrl: () => "" }),
		],
		onRoute: (route) => routes.push(route),
	});
});
afterAll(() => server.close());

const description = async () => (await (await server.request("/openapi.json")).json()) as Description;
const folder = new URL("../../../docs/protocol/", import.meta.url);
const pages = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));

describe("the API description", () => {
	it("the API description has the existing operations, and docs/protocol documents them", async () => {
		const { paths } = await description();
		const described = Object.entries(paths).flatMap(([path, operations]) =>
			Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
		);
		const registered = routes.filter(({ method }) => method !== "HEAD").map(({ method, url }) => `${method} ${url}`);
		const documented = pages
			.flatMap((page) => [...page.matchAll(/^##+ `([A-Z]+ \/\S*)`$/gm)])
			.map(([, heading]) => heading);
		expect(described.toSorted()).toEqual(registered.toSorted());
		expect(documented.toSorted()).toEqual(registered.toSorted());
	});

	it("the API description is OpenAPI 3.1, with unique ids, all parameters and only valid schemas", async () => {
		const { openapi, paths } = await description();
		expect(openapi).toBe("3.1.0");
		const operations = Object.entries(paths).flatMap(([path, methods]) =>
			Object.values(methods).map((operation) => ({ path, operation })),
		);
		const ids = operations.map(({ operation }) => operation.operationId);
		expect(new Set(ids).size).toBe(ids.length);
		for (const { path, operation } of operations) {
			const inPath = operation.parameters.filter((one) => one.in === "path").map(({ name }) => name);
			expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
			expect(Object.keys(operation.responses)).toContain("default");
		}
		const output = paths["/v1/sessions/{id}/output"]?.get?.parameters.map(({ name }) => name);
		expect(output).toEqual(["id", "since", "limit", "as", "max", "redact", "wait", "Last-Event-ID"]);
		expect(JSON.stringify(paths)).not.toContain("~");
	});

	it("the API description has only operations that the running server answers", async () => {
		const { paths } = await description();
		for (const [path, operations] of Object.entries(paths)) {
			for (const [method, { security }] of Object.entries(operations)) {
				const init = { method: method.toUpperCase(), headers: { authorization: "" }, redirect: "manual" } as const;
				const controller = new AbortController();
				const stranger = await server.request(path.replace("{id}", "nosuch"), { ...init, signal: controller.signal });
				const isPublic = security.length === 0;
				if (isPublic) expect([200, 204, 400, 401, 500]).toContain(stranger.status);
				else expect({ path, method, status: stranger.status }).toEqual({ path, method, status: 401 });
				controller.abort();
			}
		}
	});
});

describe("docs/protocol/attach.md", () => {
	it("docs/protocol/attach.md lists the existing close codes", () => {
		const page = readFileSync(new URL("attach.md", folder), "utf8");
		const listed = [...page.matchAll(/^\| (\d{4}) \|/gm)].map(([, code]) => Number(code));
		expect(listed.toSorted()).toEqual(Object.values(closeCodes).toSorted());
	});
});

describe("the server's own routes", () => {
	it("the health routes report alive and ready to everyone", async () => {
		const answer = async (path: string) => (await fetch(`${server.url}${path}`)).json();
		expect(await answer("/healthz")).toEqual({ status: "ok", version: "0.0.0-test" });
		expect(await answer("/readyz")).toEqual({ status: "ready" });
	});

	it("the health routes report not ready during a shutdown", async () => {
		const closing = new AbortController();
		const app = fastify();
		const unused = () => Promise.reject(new Error("unused"));
		const secretRequests = { watch: () => {} };
		const parts = { sessions: server.sessions, version: "1", prepare: unused, clock: systemClock, secretRequests };
		const hosting = { closing: closing.signal, report: () => {}, identify: unused, ...createBudgets() };
		createNativeFront(parts as unknown as NativeOptions).register(app, hosting);
		expect((await app.inject("/readyz")).statusCode).toBe(200);
		closing.abort();
		const answer = await app.inject("/readyz");
		expect({ status: answer.statusCode, code: answer.json().error.code }).toEqual({
			status: 503,
			code: "node_unavailable",
		});
		await app.close();
	});

	it("metrics measure the event loop from the first page on, and report its delay since the previous page", async () => {
		const ending = new AbortController();
		const page = createMetrics(
			{ sessions: server.sessions, traffic: createTrafficCounters(), version: "1" },
			ending.signal,
		);
		const longestLag = async () => Number(/lag_seconds\{quantile="1"\} (\S+)/.exec(await page())?.[1]);
		const beLate = async () => {
			for (let n = 0; n < 3; n++) {
				for (const end = performance.now() + 60; performance.now() < end; );
				await turn();
			}
		};
		await beLate();
		expect(await longestLag()).toBe(0);
		for (let lag = 0; lag < 0.03; lag = await longestLag()) await beLate();
		ending.abort();
	});

	it("metrics are for the operator only", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const client = await TestSocket.open(server.url, id);
		client.type(0, "12345");
		await client.text((text) => text === "12345");
		const response = await server.request("/metrics");
		expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4");
		const text = await response.text();
		expect(text).toContain('hawser_sessions{state="running"} 1\n');
		expect(text).toContain('hawser_attachments{kind="websocket"} 1\n');
		expect(text).toContain("hawser_input_bytes_total 5\n");
		expect(text).toContain("hawser_output_bytes_total 5\n");
		expect(text).toMatch(/^hawser_event_loop_lag_seconds\{quantile="0.99"\} [\d.e-]+$/m);
		for (const line of text.trim().split("\n"))
			expect(line).toMatch(/^(# (HELP|TYPE) |hawser_\w+(\{[^}]*\})? [\d.e+-]+$)/);
		client.cut();
		const reader = await server.request("/metrics", { headers: { authorization: "Bearer reader" } });
		expect(reader.status).toBe(403);
		expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
	});
});
