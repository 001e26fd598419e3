import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { limits } from "../../../src/api/messages.ts";
import { connect as connectTo } from "../../../src/client/index.ts";
import type { Route } from "../../../src/http/listen.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { ask, pathOf, type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const json = { "content-type": "application/json" };
const large = limits.publicBodyBytes + 1;
const manyNames = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`n${index}`, 1])));

const nameOf = ({ method, url }: Pick<Route, "method" | "url">) => `${method} ${url}`;
const takesBody = ({ method, isSocket }: Route) => !isSocket && ["POST", "PUT", "PATCH"].includes(method);

type Answer = { readonly status: number; readonly text: string };

/** The answer to a request whose body never arrives. */
async function answerToHead(server: Started, head: { route: Route; path: string; token?: string | undefined }) {
	const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const { route, path, token } = head;
	const credentials = token === undefined ? "" : `authorization: Bearer ${token}\r\nx-execd-access-token: ${token}\r\n`;
	socket.write(
		`${route.method} ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${credentials}content-length: ${large}\r\n\r\n`,
	);
	const [answer] = (await once(socket, "data")) as [Buffer];
	socket.destroy();
	return { status: Number(answer.toString("latin1").slice(9, 12)), text: answer.toString() };
}

async function each(routes: readonly Route[], answer: (route: Route) => Promise<Answer>) {
	const statuses: Record<string, number> = {};
	for (const route of routes) statuses[nameOf(route)] = (await answer(route)).status;
	return statuses;
}

const all = (routes: readonly Route[], status: number) =>
	Object.fromEntries(routes.map((route) => [nameOf(route), status]));

it("a public route refuses a body above 16 KiB before it arrives, and accepts one of 16 KiB", async () => {
	const server = await start();
	// Multica's socket answers 405 to every method except GET.
	const isSocketPath = ({ url }: Route) => url.startsWith("/ws/");
	const open = server.routes.filter((route) => route.policy === "public" && takesBody(route));
	const routes = open.filter((route) => !isSocketPath(route));
	expect(routes.map(nameOf).sort()).toEqual(["POST /signin", "POST /v1/proof", "POST /v1/signin", "POST /v1/signout"]);
	const path = (route: Route) => pathOf(route, "none");
	expect(await each(routes, (route) => answerToHead(server, { route, path: path(route) }))).toEqual(all(routes, 413));
	for (const route of routes) {
		const body = `{}${" ".repeat(limits.publicBodyBytes - 2)}`;
		const { status } = await ask(server.url, { method: route.method, path: path(route), body });
		expect([200, 204, 400, 401, 415]).toContain(status);
	}
});

it("a guarded route answers an unauthenticated caller before the body arrives, and so does an unknown path", async () => {
	const server = await start();
	const routes = server.routes.filter((route) => route.policy !== "public" && takesBody(route));
	expect(routes.length).toBeGreaterThan(40);
	const head = (route: Route) => answerToHead(server, { route, path: pathOf(route, "none") });
	expect(await each(routes, head)).toEqual(all(routes, 401));
	const [route] = routes as [Route];
	expect((await answerToHead(server, { route, path: "/v1/nowhere" })).status).toBe(404);
});

it("a caller without a route's right in any workspace is answered before a large body arrives", async () => {
	const server = await start();
	const id = await server.session();
	const viewer = await server.token(`session:${id}:view`);
	const routes = server.routes.filter(
		(route) => (route.policy === "operate" || route.policy === "manage") && takesBody(route),
	);
	expect(routes.length).toBeGreaterThan(30);
	const texts: string[] = [];
	const statuses = await each(routes, async (route) => {
		const answer = await answerToHead(server, { route, path: pathOf(route, id), token: viewer });
		texts.push(answer.text);
		return answer;
	});
	expect(statuses).toEqual(all(routes, 403));
	for (const text of texts) expect(text).toMatch(/this token may not (operate|manage) /);
	expect(texts.filter((text) => text.includes("anything, so its large body is not read")).length).toBeGreaterThan(20);
});

it("a caller that may only watch is answered before a large body arrives, on routes that it may use as well", async () => {
	const server = await start();
	const id = await server.session();
	const routes = server.routes.filter((route) => route.policy === "read" && takesBody(route));
	expect(routes.map(nameOf)).toEqual(
		expect.arrayContaining(["POST /v1/tokens", "PUT /v1/screens/:stream", "POST /mcp"]),
	);
	for (const scope of [`session:${id}:view`, "workspace:default:read", "metrics"]) {
		const token = await server.token(scope);
		const texts: string[] = [];
		const statuses = await each(routes, async (route) => {
			const answer = await answerToHead(server, { route, path: pathOf(route, id), token });
			texts.push(answer.text);
			return answer;
		});
		expect(statuses).toEqual(all(routes, 403));
		for (const text of texts)
			expect(text).toContain("this token may not operate anything, so its large body is not read");
	}
});

it.each([
	["large bodies", { connections: 30, names: 16_000, bytes: 40, path: "/v1/tokens" }],
	["small bodies on a public route", { connections: 150, names: 1_200, bytes: 1, path: "/v1/signin" }],
	["bodies of OpenSandbox", { connections: 150, names: 1_200, bytes: 1, path: "/opensandbox/command" }],
])("%s are parsed in turns, so a short request that arrives after them is answered before most", async (_, posted) => {
	// In a process of its own, so that it finds all requests of one turn of ours at once.
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const operator = await server.token();
	const { token } = await connectTo({ url: server.url, token: operator }).tokens.create({
		scopes: ["workspace:default:operate"],
	});
	const { hostname, port } = new URL(server.url);
	const names = Object.fromEntries(
		Array.from({ length: posted.names }, (_, index) => [`n${index}`, "x".repeat(posted.bytes)]),
	);
	const body = JSON.stringify(names);
	const head = (method: string, path: string, bearer: string, more = "") =>
		`${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${bearer}\r\nx-execd-access-token: ${bearer}\r\n${more}\r\n`;
	const opened = async () => {
		const socket = connect(Number(port), hostname);
		onTestFinished(() => void socket.destroy());
		// The server accepts connections over several turns; an answer shows that it has this one.
		socket.write(head("GET", "/healthz", token));
		await once(socket, "data");
		return socket;
	};
	const sockets = await Promise.all(Array.from({ length: posted.connections }, opened));
	const reader = await opened();
	const length = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
	let answered = 0;
	for (const socket of sockets) socket.once("data", () => answered++);
	await Promise.all(
		sockets.map((socket) => {
			const most = `${head("POST", posted.path, token, length)}${body.slice(0, -1)}`;
			return new Promise((resolve) => socket.write(most, resolve));
		}),
	);
	// All requests are complete in the same turn, the short one last.
	for (const socket of sockets) socket.write(body.slice(-1));
	reader.write(head("GET", "/v1/sessions", operator));
	const [answer] = (await once(reader, "data")) as [Buffer];
	expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
	expect(answered).toBeLessThan(sockets.length / 2);
	await expect.poll(() => answered, { timeout: 20_000 }).toBe(sockets.length);
});

it("every JSON route refuses JSON with too many names before it is parsed", async () => {
	const server = await start();
	const id = await server.session();
	const path = (route: Route) => pathOf(route, id);
	const refused: string[] = [];
	const others: Record<string, number> = {};
	for (const route of server.routes.filter((one) => takesBody(one) && one.policy !== "public")) {
		const headers = {
			authorization: `Bearer ${server.adminToken}`,
			"x-execd-access-token": server.adminToken,
			...json,
		};
		const answer = await ask(server.url, { method: route.method, path: path(route), headers, body: manyNames });
		if (answer.text.includes("more than 16384 names")) refused.push(nameOf(route));
		else others[nameOf(route)] = answer.status;
	}
	expect(refused.length).toBeGreaterThan(30);
	// Routes that read bytes, no body at all, or a streamed body.
	expect(others).toMatchInlineSnapshot(`
		{
		  "PATCH /opensandbox/proxy": 400,
		  "PATCH /opensandbox/proxy/*": 400,
		  "POST /opensandbox/code/context": 501,
		  "POST /opensandbox/code/contexts": 501,
		  "POST /opensandbox/code/contexts/:id": 501,
		  "POST /opensandbox/files/upload": 400,
		  "POST /opensandbox/proxy": 400,
		  "POST /opensandbox/proxy/*": 400,
		  "POST /opensandbox/v1/isolated/*": 501,
		  "PUT /opensandbox/proxy": 400,
		  "PUT /opensandbox/proxy/*": 400,
		}
	`);
	expect((await server.request("/healthz")).status).toBe(200);
});
