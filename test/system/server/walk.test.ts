import { describe, expect, it } from "vitest";
import type { Route } from "../../../src/http/listen.ts";
import { ask, pathOf, type Started, start } from "../../support/server.ts";

/** The body or query that a route needs to pass validation. A route without an entry needs nothing. */
const bodies: Readonly<Record<string, unknown>> = {
	"POST /v1/sessions": { argv: ["cat"], durable: false },
	"POST /v1/sessions/:id/keys": { keys: ["Enter"] },
	"PATCH /v1/sessions/:id": { name: "another" },
	"POST /v1/sessions/:id/answer": { episode: 1, choice: "1" },
	"POST /v1/sessions/:id/prompt": { text: "x" },
	"POST /v1/sessions/:id/resize": { cols: 80, rows: 24 },
	"POST /v1/sessions/:id/run": { command: "true" },
	"POST /v1/sessions/:id/send": { text: "x" },
	"POST /v1/sessions/:id/signal": { signal: "TERM" },
	"PUT /v1/workspaces/:ws": { roots: [] },
	"PUT /v1/workspaces/:ws/tasks/:task": { workDir: "/" },
	"POST /v1/webhooks": { url: "https://127.0.0.1/" },
	"POST /v1/webhooks/:webhook/failed/retry": {},
	"POST /v1/tokens": { scopes: ["admin"] },
	"POST /v1/tickets": { session: ":id" },
	"POST /v1/approvals/:id": { decision: "deny" },
	"PUT /v1/screens/:stream": { sessions: [] },
};

const queries: Readonly<Record<string, string>> = { "GET /v1/sessions/:id/search": "?q=x" };

type Call = {
	readonly route: Route;
	readonly token?: string;
	readonly id: string;
	readonly headers?: Record<string, string>;
};

async function statusOf(server: Started, { route, token, id, headers = {} }: Call): Promise<number> {
	const { method, isSocket } = route;
	const { status } = await ask(server.url, {
		method,
		isSocket,
		path: pathOf(route, id) + (queries[`${method} ${route.url}`] ?? ""),
		headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
		body: JSON.stringify(bodies[`${method} ${route.url}`])?.replaceAll(":id", id),
	});
	return status;
}

async function statuses(server: Started, routes: readonly Route[], call: Omit<Call, "route">) {
	const found: Record<string, number> = {};
	for (const route of routes) found[nameOf(route)] = await statusOf(server, { route, ...call });
	return found;
}

const nameOf = ({ front, method, url, isSocket }: Route) => `${front}: ${isSocket ? "upgrade" : method} ${url}`;
/** Routes of a workspace answer 404 to strangers. Routes for the operator are refused before that check. */
const isOfWorkspaces = ({ url, policy }: Route) =>
	policy !== "admin" && /^\/v1\/(workspaces\/:ws\/tasks|webhooks\/:webhook|secret-requests\/:id)/.test(url);
const all = (routes: readonly Route[], status: number) =>
	Object.fromEntries(routes.map((route) => [nameOf(route), status]));

describe("every route and every upgrade", () => {
	it("every route has a policy, and the public ones are exactly these", async () => {
		const { routes } = await start();
		expect(routes.length).toBeGreaterThan(10);
		expect([...new Set(routes.map(({ front }) => front))]).toEqual([
			"native",
			"access",
			"opensandbox",
			"codex-exec",
			"codex-app",
			"multica",
			"mcp",
			"web",
		]);
		// The web UI is one page and its files, which contain no data.
		const open = routes.filter(({ policy, front }) => policy === "public" && front !== "web");
		for (const route of open) {
			const known = ["/healthz", "/readyz", "/openapi.json", "/signin", "/v1/signin", "/v1/signout", "/v1/proof", "/"];
			// Authenticates in its first frame.
			expect([...known, "/ws/issues/:issue/terminal"]).toContain(route.url);
		}
	});

	it("a route refuses a missing and a wrong credential", async () => {
		const server = await start();
		const id = await server.session();
		const guarded = server.routes.filter(({ policy }) => policy !== "public");
		expect(await statuses(server, guarded, { id })).toEqual(all(guarded, 401));
		const wrong = await statuses(server, guarded.slice(0, 9), { id, token: "wrong" });
		expect(wrong).toEqual(all(guarded.slice(0, 9), 401));
	});

	it("a route that changes something is forbidden to a viewer", async () => {
		const server = await start();
		const id = await server.session();
		const viewer = await server.token(`session:${id}:view`);
		const acting = server.routes.filter(({ policy }) => ["operate", "manage", "admin"].includes(policy));
		const native = acting.filter(({ front }) => front === "native");
		expect(native.length).toBeGreaterThan(2);
		// A guest of one session has no workspace, and no secret was requested.
		const isOther = (route: Route) => !isOfWorkspaces(route);
		const [unknown, others] = [native.filter(isOfWorkspaces), native.filter(isOther)];
		expect(await statuses(server, others, { id, token: viewer })).toEqual(all(others, 403));
		expect(await statuses(server, unknown, { id, token: viewer })).toEqual(all(unknown, 404));
	});

	it("a session of another workspace answers 404", async () => {
		const server = await start();
		const id = await server.session("red");
		const stranger = await server.token("workspace:blue:manage");
		const about = server.routes.filter(
			({ front, url, policy }) => policy !== "public" && front === "native" && url.includes(":id"),
		);
		expect(about.length).toBeGreaterThan(3);
		expect(await statuses(server, about, { id, token: stranger })).toEqual(all(about, 404));
		expect((await server.post("/v1/tickets", { session: id }, stranger)).status).toBe(404);
		const listed = await server.request("/v1/sessions", { headers: { authorization: `Bearer ${stranger}` } });
		expect(await listed.json()).toEqual({ sessions: [], next: null });
		expect((await server.post("/v1/sessions", { argv: ["cat"], workspace: "red" }, stranger)).status).toBe(403);
	});

	it("a route refuses another host name, and pages of other origins", async () => {
		const server = await start();
		const id = await server.session();
		const token = server.adminToken;
		const acting = server.routes.filter(
			({ isSocket, method }) => isSocket || !["GET", "HEAD", "OPTIONS"].includes(method),
		);
		const evil = { origin: "https://evil.test" };
		expect(await statuses(server, acting, { id, token, headers: evil })).toEqual(all(acting, 403));
		const { routes } = server;
		expect(await statuses(server, routes, { id, token, headers: { host: "evil.test" } })).toEqual(all(routes, 403));
	});
});
