/**
 * A token of one workspace reveals nothing about the others. The trial calls every route of the running server with
 * every name that exists in other workspaces. Each answer must equal the one for a name that never existed.
 */

import { once } from "node:events";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ticketPrefix } from "../../../src/api/socket.ts";
import type { Route } from "../../../src/http/listen.ts";
import { call } from "../../support/calling.ts";
import { ask, type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** Occurs in everything that other workspaces must not see. */
const SECRET = "crimson";

type Names = {
	readonly session: string;
	/** Fields of the session. */
	readonly name: string;
	readonly workspace: string;
	readonly task: string;
	readonly token: string;
	readonly webhook: string;
	readonly pty: string;
	readonly command: string;
	readonly bash: string;
};

/** Formatted like the real ones, but never assigned. */
function unknownNames(names: Names): Names {
	const invented = Object.entries(names).map(([kind, name], n) => [kind, name.replace(/[a-z0-9]/g, `${n}`)]);
	return Object.fromEntries(invented) as Names;
}

/** Not words, so they occur in no sentence by chance. */
const WORKSPACE = "red-7f3k";
const TASK = "task-9x2v";
const NAME = "shell-4w8c";

let server: Started;
let names: Names;
/** Requests besides the routes that contain names. */
let strangers: Readonly<Record<string, string>>;

beforeEach(async () => {
	// Hundreds of requests would create something if they were permitted.
	server = await start({ createRate: "100000" });
	const root = join(await realpath(await temporaryDirectory()), SECRET);
	await mkdir(root);
	await call(server, "PUT", `/v1/workspaces/${WORKSPACE}`, { name: SECRET, roots: [root] });
	await call(server, "PUT", "/v1/workspaces/blue", { roots: [] });
	await call(server, "PUT", `/v1/workspaces/${WORKSPACE}/tasks/${TASK}`, {
		workDir: root,
		env: { KEY: SECRET },
		issueKey: SECRET,
	});
	const made = await call(server, "POST", "/v1/sessions", {
		command: `echo ${SECRET}; exec cat`,
		name: NAME,
		labels: { kind: SECRET },
		workspace: WORKSPACE,
		task: TASK,
		durable: false,
	});
	expect(made.status).toBe(201);
	// The content of answers is compared, too.
	const outputOf = async () => (await server.request(`/v1/sessions/${made.body.id}/output`)).text();
	await expect.poll(outputOf).toBe(`${SECRET}\r\n`);
	const token = await call(server, "POST", "/v1/tokens", { name: SECRET, scopes: [`workspace:${WORKSPACE}:manage`] });
	const address = `https://127.0.0.1/${SECRET}`;
	const webhook = await call(server, "POST", "/v1/webhooks", {
		url: address,
		workspace: WORKSPACE,
		events: ["removed"],
	});
	names = {
		session: String(made.body.id),
		name: NAME,
		workspace: WORKSPACE,
		task: TASK,
		token: String(token.body.id),
		webhook: String(webhook.body.id),
		...(await openSandbox()),
	};
	strangers = {
		reader: await server.token("workspace:blue:read"),
		operator: await server.token("workspace:blue:operate"),
		manager: await server.token("workspace:blue:manage"),
		"viewer of one session": await server.token(`session:${await server.session("blue")}:control`),
	};
});

/** Objects of the protocols, which all belong to the workspace `default`. */
async function openSandbox(): Promise<Pick<Names, "pty" | "command" | "bash">> {
	const headers = { "x-execd-access-token": server.adminToken, "content-type": "application/json" };
	const asked = (path: string, body: object) =>
		server.request(`/opensandbox${path}`, { method: "POST", headers, body: JSON.stringify(body) });
	const idOf = async (response: Response) => String(((await response.json()) as { session_id: string }).session_id);
	const pty = await idOf(await asked("/pty", {}));
	const bash = await idOf(await asked("/session", {}));
	const stream = await asked("/command", { command: `echo ${SECRET}; exec sleep 1000` });
	let text = "";
	for await (const chunk of stream.body ?? []) {
		text += new TextDecoder().decode(chunk);
		const command = /"type":"init","text":"([0-9a-f]+)"/.exec(text)?.[1];
		if (command !== undefined) return { pty, bash, command };
	}
	throw new Error(`no command was started: ${text}`);
}

/** Every way to put a foreign name into a route. */
function pathsOf({ url }: Route, of: Names): string[] {
	const ids = url.includes("/workspaces/")
		? [of.workspace]
		: [of.session, of.pty, of.command, of.bash, of.token, of.name];
	const named = ids.map((id) =>
		url
			.replace(/:ws\b/, of.workspace)
			.replace(/:task\b/, of.task)
			.replace(/:webhook\b/, of.webhook)
			.replace(/:\w+/g, id)
			.replace("*", id),
	);
	const queries = ["", `?workspace=${of.workspace}`, `?task=${of.task}`, `?after=${of.session}`, `?id=${of.command}`];
	if (url === "/v1/screens") queries.push(`?session=${of.session}`);
	if (url.endsWith("/search")) return named.map((path) => `${path}?q=.&regex=1`);
	return [...new Set(url.includes(":") ? named : queries.map((query) => url.replace("*", "x") + query))];
}

/** The same with bodies. A route without an entry needs none. */
function bodiesOf({ method, url }: Route, of: Names): (object | undefined)[] {
	const transient = { argv: ["cat"], durable: false };
	const bodies: Readonly<Record<string, object[]>> = {
		"POST /v1/sessions": [
			{ ...transient, workspace: of.workspace },
			{ ...transient, workspace: of.workspace, task: of.task },
			{ ...transient, workspace: "blue", task: of.task },
		],
		"POST /v1/sessions/:id/keys": [{ keys: ["Enter"] }],
		"PATCH /v1/sessions/:id": [{ name: "another" }],
		"POST /v1/sessions/:id/resize": [{ cols: 80, rows: 24 }],
		"POST /v1/sessions/:id/run": [{ command: "true" }],
		"POST /v1/sessions/:id/send": [{ text: "x" }],
		"POST /v1/sessions/:id/signal": [{ signal: "TERM" }],
		"PUT /v1/workspaces/:ws": [{ roots: [] }],
		"PUT /v1/workspaces/:ws/tasks/:task": [{ workDir: "/" }],
		"POST /v1/webhooks": [{ url: "https://127.0.0.1/", workspace: of.workspace }, { url: "https://127.0.0.1/" }],
		"POST /v1/webhooks/:webhook/failed/retry": [{}],
		"POST /v1/tokens": [
			{ scopes: [`workspace:${of.workspace}:read`] },
			{ scopes: [`session:${of.session}:view`] },
			{ scopes: ["admin"] },
		],
		"POST /v1/sessions/:id/links": [{}, { right: "control" }],
		"PUT /v1/screens/:stream": [{ sessions: [of.session] }],
		"POST /v1/tickets": [{ session: of.session }, { session: of.session, right: "operate" }],
		"POST /v1/proof": [{ token: of.token, nonce: "n".repeat(32) }],
		"POST /opensandbox/command": [{ command: "true" }],
		"POST /opensandbox/session/:id/run": [{ command: "true" }],
	};
	return bodies[`${method} ${url}`] ?? [undefined];
}

type Probe = { readonly route: Route; readonly path: string; readonly body: object | undefined };

function probesOf(of: Names): Probe[] {
	return server.routes
		.filter(({ method }) => method !== "HEAD")
		.flatMap((route) =>
			pathsOf(route, of).flatMap((path) => bodiesOf(route, of).map((body) => ({ route, path, body }))),
		);
}

async function answerTo({ route, path, body }: Probe, token: string): Promise<{ status: number; text: string }> {
	const { status, text } = await ask(server.url, {
		method: route.method,
		isSocket: route.isSocket,
		path,
		headers: { authorization: `Bearer ${token}`, "x-execd-access-token": token },
		body: body && JSON.stringify(body),
	});
	return { status, text };
}

/** Legitimate differences between two answers: the time, random values and the requested name. */
function comparable({ status, text }: { status: number; text: string }, of: Names): string {
	const plain = Object.entries(of).reduce((rest, [kind, name]) => rest.replaceAll(name, `<${kind}>`), text);
	const drawn =
		/"(date|Date|set-cookie)","[^"]*"|"(proof|ticket|token|url|id|stream|lastUsedAt|expiresAt)":("[^"]*"|\d+)/g;
	return `${status} ${plain.replace(drawn, "").replace(/id: \S+/g, "")}`;
}

it("no route reveals anything of another workspace, or distinguishes it from one that never existed", {
	timeout: 60_000,
}, async () => {
	const none = unknownNames(names);
	const [real, absent] = [probesOf(names), probesOf(none)];
	expect(real.length).toBe(absent.length);
	expect(real.length).toBeGreaterThan(100);
	for (const [who, token] of Object.entries(strangers)) {
		for (const [index, probe] of real.entries()) {
			const what = `${who}: ${probe.route.method} ${probe.path} ${JSON.stringify(probe.body)}`;
			const found = await answerTo(probe, token);
			expect(found.text, what).not.toContain(SECRET);
			if (isAboutSomething(probe.route)) expect(found.status, what).toBeGreaterThanOrEqual(400);
			const control = absent[index];
			if (!control) continue;
			expect(comparable(found, names), what).toBe(comparable(await answerTo(control, token), none));
		}
	}
	// And nothing was changed.
	const { body } = await call(server, "GET", `/v1/sessions/${names.session}`);
	expect(body).toMatchObject({ state: "running", size: { cols: 80, rows: 24 }, attachments: 0 });
	const output = await (await server.request(`/v1/sessions/${names.session}/output`)).text();
	expect(output).toBe(`${SECRET}\r\n`);
	expect(await call(server, "GET", `/v1/workspaces/${WORKSPACE}`)).toMatchObject({
		status: 200,
		body: { name: SECRET },
	});
	expect((await call(server, "GET", `/v1/workspaces/${WORKSPACE}/tasks/${TASK}`)).status).toBe(200);
	expect(JSON.stringify((await call(server, "GET", "/v1/tokens")).body)).toContain(names.token);
	const command = { route: routeOf("/opensandbox/command/status/:id"), body: undefined };
	const status = await answerTo(
		{ ...command, path: `/opensandbox/command/status/${names.command}` },
		server.adminToken,
	);
	expect(status.text).toContain('"running":true');
});

it("the probed objects exist: a reader of their workspace finds them by the same routes", async () => {
	const reading = probesOf(names).filter(({ route }) => route.method === "GET" && !route.isSocket);
	const found = new Set<string>();
	for (const probe of reading) {
		const { status, text } = await answerTo(probe, server.adminToken);
		if (status === 200 && text.includes(SECRET)) found.add(probe.route.url);
	}
	expect([...found].sort()).toEqual([
		"/opensandbox/command/status/:id",
		"/v1/audit",
		"/v1/sessions",
		"/v1/sessions/:id",
		"/v1/sessions/:id/output",
		"/v1/sessions/:id/recording",
		"/v1/sessions/:id/screen",
		"/v1/sessions/:id/search",
		"/v1/sessions/:id/state",
		"/v1/tokens",
		"/v1/webhooks",
		"/v1/workspaces",
		"/v1/workspaces/:ws",
		"/v1/workspaces/:ws/tasks",
		"/v1/workspaces/:ws/tasks/:task",
	]);
});

it("the feed reports nothing about sessions of another workspace", async () => {
	const stop = new AbortController();
	const feed = await server.request("/v1/events", {
		headers: { authorization: `Bearer ${strangers.manager}` },
		signal: stop.signal,
	});
	let heard = "";
	const listening = (async () => {
		for await (const chunk of feed.body ?? []) heard += new TextDecoder().decode(chunk);
	})().catch(() => {});
	const body = { argv: ["cat"], workspace: WORKSPACE, task: TASK, durable: false };
	const other = String((await call(server, "POST", "/v1/sessions", body)).body.id);
	await call(server, "DELETE", `/v1/sessions/${names.session}`);
	await call(server, "DELETE", `/v1/sessions/${other}`);
	const own = await server.session("blue");
	await expect.poll(() => heard).toContain(own);
	stop.abort();
	await listening;
	for (const text of [SECRET, names.session, other, WORKSPACE, NAME]) expect(heard).not.toContain(text);
});

it("a ticket for one's own session opens no session of another workspace", async () => {
	const own = await server.session("blue");
	const ticketFor = async () =>
		String((await call(server, "POST", "/v1/tickets", { session: own }, strangers.manager)).body.ticket);
	const attach = async (id: string, ticket: string) => {
		const url = `${server.url.replace("http", "ws")}/v1/sessions/${id}/attach`;
		const socket = new WebSocket(url, ["hawser.v1", `${ticketPrefix}${ticket}`]);
		socket.on("error", () => {});
		const answer = once(socket, "unexpected-response").then(([, response]) => response.statusCode as number);
		const status = await Promise.race([answer, once(socket, "open").then(() => 101)]);
		socket.terminate();
		return status;
	};
	expect(await attach(names.session, await ticketFor())).toBe(404);
	expect(await attach(own, await ticketFor())).toBe(101);
});

/** Whether a route contains a name, or belongs to a protocol that keeps everything in the workspace `default`. */
function isAboutSomething({ front, url }: Route): boolean {
	const isSaidToAll = url.endsWith("/ping") || url.endsWith("/v1/isolated/capabilities");
	// The page is the same for every address. It requests its data separately.
	if (front === "web") return false;
	return url.includes(":") || (["opensandbox", "codex-exec", "codex-app"].includes(front) && !isSaidToAll);
}

function routeOf(url: string): Route {
	const route = server.routes.find((each) => each.url === url);
	if (!route) throw new Error(`there is no route ${url}`);
	return route;
}
