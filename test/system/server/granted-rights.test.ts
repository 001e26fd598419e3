/**
 * Every kind of credential on every route: nothing that a caller creates has more rights or a longer life than its
 * creator.
 */

import { readFile, writeFile } from "node:fs/promises";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ticketPrefix } from "../../../src/api/socket.ts";
import { covers, parseScope } from "../../../src/core/policy/scope.ts";
import type { Route } from "../../../src/http/listen.ts";
import { type SecretRight, secretRights } from "../../../src/words/rights.ts";
import { AUDIENCE, edSigner, ISSUER } from "../../access/jwt-signer.ts";
import { pathOf, type Started, socketHeaders, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const HOUR_MS = 3_600_000;
const CENTURY_MS = 100 * 365 * 24 * HOUR_MS;
/** An answer that takes longer than this is a stream. */
const STREAM_MS = 1_500;

type Facts = {
	readonly scopes: readonly string[];
	readonly expiresAt: number | null;
	/** The expressions of its gate. */
	readonly gate: readonly string[];
	readonly secrets: SecretRight;
};

/** A kind of caller, and the facts about its credential. */
type Caller = {
	readonly facts: Facts;
	/** A ticket works once, so each request gets its own. */
	readonly headers: () => Promise<Record<string, string>>;
	/** The token that a page would sign in with. */
	readonly token?: string;
	readonly socket?: string;
};

type World = {
	readonly server: Started;
	readonly session: string;
	readonly socket: string;
	readonly sign: (claims: object) => string;
};

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

async function open(): Promise<World> {
	const signer = edSigner();
	const jwtKey = join(await temporaryDirectory(), "key.pem");
	await writeFile(jwtKey, signer.keyFile);
	const server = await start({ createRate: "0", jwtKey, jwtIssuer: ISSUER, jwtAudience: AUDIENCE });
	const { socket } = JSON.parse(await readFile(join(server.stateDir, "server.json"), "utf8")) as { socket: string };
	return { server, socket, session: await server.session(), sign: (claims) => signer.sign(claims) };
}

function call(
	{ server }: World,
	caller: Pick<Caller, "socket">,
	asked: { method: string; path: string; headers: Record<string, string>; body?: object | undefined },
): Promise<Answer> {
	const { method, path, headers, body } = asked;
	const typed = body === undefined ? headers : { ...headers, "content-type": "application/json" };
	const { hostname, port } = new URL(server.url);
	const where = caller.socket === undefined ? { hostname, port } : { socketPath: caller.socket };
	return new Promise((resolve, reject) => {
		const request = httpRequest({ ...where, method, path, headers: { host: "localhost", ...typed } });
		request.on("upgrade", (response, socket) => {
			socket.destroy();
			resolve({ status: 101, headers: response.headers, text: "" });
		});
		request.on("response", (response) => {
			let text = "";
			response.setEncoding("utf8").on("data", (part) => {
				text += part;
			});
			// The first part of such an answer shows everything of interest.
			if (response.headers["content-type"]?.startsWith("text/event-stream"))
				response.once("data", () => request.destroy());
			const timer = setTimeout(() => request.destroy(), STREAM_MS);
			response.on("close", () => {
				clearTimeout(timer);
				resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
			});
			response.on("error", () => {});
		});
		request.on("error", reject);
		request.end(body && JSON.stringify(body));
	});
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, "x-execd-access-token": token });

type Spec = {
	readonly scopes: readonly string[];
	readonly expiresInMs?: number;
	readonly gate?: { readonly match: readonly string[] };
	readonly secrets?: SecretRight;
};

/** One of each kind of scope, bounded in all other ways. */
const specs: Readonly<Record<string, Spec>> = {
	"admin, bounded": { scopes: ["admin"], expiresInMs: HOUR_MS, gate: { match: ["held"] }, secrets: "request" },
	metrics: { scopes: ["metrics"], expiresInMs: HOUR_MS },
	read: { scopes: ["workspace:default:read"], secrets: "none" },
	operate: { scopes: ["workspace:default:operate"], gate: { match: ["held"] } },
	manage: { scopes: ["workspace:default:manage"], expiresInMs: HOUR_MS, gate: { match: ["held"] }, secrets: "none" },
	view: { scopes: ["session:SESSION:view"], expiresInMs: HOUR_MS },
	control: { scopes: ["session:SESSION:control"], gate: { match: ["held"] }, secrets: "request" },
	"read and control": { scopes: ["workspace:default:read", "session:SESSION:control"], expiresInMs: HOUR_MS },
};

async function tokenCaller({ server, session }: World, name: string): Promise<Caller & { readonly token: string }> {
	const { scopes, ...rest } = specs[name] as Spec;
	const wanted = { ...rest, scopes: scopes.map((scope) => scope.replace("SESSION", session)) };
	const { status, body } = await server.post("/v1/tokens", wanted);
	expect(status).toBe(201);
	const made = body as unknown as { token: string; expiresAt: number | null };
	const facts = {
		scopes: wanted.scopes,
		expiresAt: made.expiresAt,
		gate: rest.gate?.match ?? [],
		secrets: rest.secrets ?? "type",
	} as const;
	return { facts, token: made.token, headers: async () => bearer(made.token) };
}

async function cookieCaller(world: World, owner: Caller & { readonly token: string }): Promise<Caller> {
	const answer = await call(
		world,
		{},
		{ method: "POST", path: "/v1/signin", headers: {}, body: { token: owner.token } },
	);
	expect(answer.status).toBe(200);
	const shown = shownBy(answer);
	return { facts: owner.facts, headers: async () => shown };
}

/** The headers of a browser that this answer signed in. */
function shownBy({ headers, text }: Answer): Record<string, string> {
	const cookie = headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
	return { origin: "http://localhost", cookie, "hawser-key": (JSON.parse(text) as { pageKey: string }).pageKey };
}

/**
 * In a handshake Node reads no body, so the routes that want one refuse it. With only the `Upgrade` header it is an
 * ordinary request with a body.
 */
const claims = { handshake: socketHeaders, header: { upgrade: "websocket" } } as const;

async function ticketCaller(
	world: World,
	right: "read" | "operate",
	{ name, claim }: { name: string; claim: keyof typeof claims },
): Promise<Caller> {
	const { server, session } = world;
	const owner = await tokenCaller(world, name);
	return {
		facts: { ...owner.facts, scopes: [`session:${session}:${right === "read" ? "view" : "control"}`] },
		async headers() {
			const { body } = await server.post("/v1/tickets", { session, right }, owner.token);
			return { ...claims[claim], "sec-websocket-protocol": `hawser.v1, ${ticketPrefix}${body.ticket}` };
		},
	};
}

const operator: Facts = { scopes: ["admin"], expiresAt: null, gate: [], secrets: "type" };

const callers: Readonly<Record<string, (world: World) => Promise<Caller>>> = {
	"the operator's token": async ({ server }) => ({
		facts: operator,
		token: server.adminToken,
		headers: async () => bearer(server.adminToken),
	}),
	...Object.fromEntries(
		Object.keys(specs).flatMap((name) => [[`a token: ${name}`, (world: World) => tokenCaller(world, name)]]),
	),
	...Object.fromEntries(
		["admin, bounded", "manage", "control"].map((name) => [
			`a cookie: ${name}`,
			async (world: World) => cookieCaller(world, await tokenCaller(world, name)),
		]),
	),
	"a link for viewers": (world) => linkCaller(world, "view"),
	"a link for control": (world) => linkCaller(world, "control"),
	"a cookie of a link": async (world) => cookieCaller(world, await linkCaller(world, "control")),
	"a ticket to read": (world) => ticketCaller(world, "read", { name: "manage", claim: "handshake" }),
	"a ticket to read, with a body": (world) => ticketCaller(world, "read", { name: "admin, bounded", claim: "header" }),
	"a ticket to operate": (world) => ticketCaller(world, "operate", { name: "control", claim: "handshake" }),
	"a ticket to operate, with a body": (world) => ticketCaller(world, "operate", { name: "manage", claim: "header" }),
	"a JWT": async (world) => jwtCaller(world),
	"a cookie of a JWT": async (world) => cookieCaller(world, jwtCaller(world)),
	"a token over the local socket": async (world) => ({ ...(await tokenCaller(world, "manage")), socket: world.socket }),
};

function jwtCaller({ sign }: World): Caller & { readonly token: string } {
	const exp = Math.floor(Date.now() / 1000) + 600;
	const token = sign({ workspaces: { default: "manage" }, exp });
	const facts = { ...operator, scopes: ["workspace:default:manage"], expiresAt: exp * 1000 };
	return { facts, token, headers: async () => bearer(token) };
}

async function linkCaller(
	{ server, session }: World,
	right: "view" | "control",
): Promise<Caller & { readonly token: string }> {
	const { body } = await server.post(`/v1/sessions/${session}/links`, { right, expiresInMs: HOUR_MS });
	const { url, expiresAt } = body as unknown as { url: string; expiresAt: number };
	const token = new URL(url).hash.slice(1);
	const facts = { ...operator, scopes: [`session:${session}:${right}`], expiresAt };
	return { facts, token, headers: async () => bearer(token) };
}

/** Bodies that request the maximum of a route. */
function bodiesOf({ method, url }: Route, { session }: World, { token }: Caller): readonly (object | undefined)[] {
	const long = { expiresInMs: CENTURY_MS };
	const all: Readonly<Record<string, readonly object[]>> = {
		"POST /v1/sessions": [{ argv: ["true"], durable: false }],
		"POST /v1/tokens": [
			["admin"],
			["metrics"],
			["workspace:default:manage"],
			["workspace:default:read"],
			["workspace:other:manage"],
			[`session:${session}:control`],
			[`session:${session}:view`],
			["workspace:default:read", "admin"],
		].flatMap((scopes) => [{ scopes }, { scopes, ...long, secrets: "type" }, { scopes, gate: { match: ["other"] } }]),
		"POST /v1/sessions/:id/links": [{}, ...["view", "control"].map((right) => ({ right, ...long }))],
		"POST /v1/tickets": ["read", "operate"].map((right) => ({ session, right })),
		"POST /v1/signin": token === undefined ? [] : [{ token }],
		"POST /v1/webhooks": [null, "default", "other"].map((workspace) => ({ url: "https://127.0.0.1:1/", workspace })),
		"PUT /v1/workspaces/:ws": [{ roots: [] }],
		"PUT /v1/workspaces/:ws/tasks/:task": [{ workDir: "/" }],
	};
	return all[`${method} ${url}`] ?? [method === "GET" || method === "HEAD" ? undefined : {}];
}

type Token = Facts & { readonly id: string; readonly tokenGate?: { match: string[] } | null };

async function tokensOf({ server }: World): Promise<Map<string, Token>> {
	const answer = await server.request("/v1/tokens");
	type Listed = Omit<Token, "gate"> & { gate: { match: string[] } | null };
	const { tokens } = (await answer.json()) as { tokens: Listed[] };
	return new Map(tokens.map((token) => [token.id, { ...token, gate: token.gate?.match ?? [] }]));
}

/** The rights of the created object that its creator lacks. */
function excessOf({ session }: World, made: Partial<Facts>, { facts }: Caller): string[] {
	const held = facts.scopes.map(parseScope);
	const workspaceOf = (id: string) => (id === session ? "default" : undefined);
	const scopes = (made.scopes ?? []).filter((scope) => !covers(held, parseScope(scope), workspaceOf));
	const isLonger =
		facts.expiresAt !== null && made.expiresAt !== undefined && (made.expiresAt ?? Infinity) > facts.expiresAt;
	const isFreer = made.gate !== undefined && facts.gate.some((expression) => !made.gate?.includes(expression));
	const isTyper =
		made.secrets !== undefined && secretRights.indexOf(made.secrets) > secretRights.indexOf(facts.secrets);
	return [
		...scopes.map((scope) => `scope ${scope}`),
		...(isLonger ? [`lives until ${made.expiresAt}`] : []),
		...(isFreer ? [`gate ${made.gate?.join()}`] : []),
		...(isTyper ? [`secrets ${made.secrets}`] : []),
	];
}

/** The facts about the caller with these headers, as the server reports them and as a token it creates has them. */
async function factsOf(world: World, headers: Record<string, string>): Promise<Partial<Facts>> {
	const answer = await call(world, {}, { method: "GET", path: "/v1/me", headers });
	expect(answer.status).toBe(200);
	const { scopes, expiresAt } = JSON.parse(answer.text) as Facts;
	const body = { scopes: scopes.slice(0, 1) };
	const probe = await call(world, {}, { method: "POST", path: "/v1/tokens", headers, body });
	// A JWT creates no tokens, and neither does a browser that one signed in.
	if (probe.status !== 201) return { scopes, expiresAt };
	const { id } = JSON.parse(probe.text) as { id: string };
	const { gate, secrets } = (await tokensOf(world)).get(id) as Token;
	await world.server.request(`/v1/tokens/${id}`, { method: "DELETE" });
	return { scopes, expiresAt, gate, secrets };
}

const isLast = ({ method, url }: Route) => method === "DELETE" || /\/(kill|detach|signout)$/.test(url);

it.each(Object.keys(callers))(
	"nothing that %s creates through any route has more rights or lives longer than its creator",
	async (name) => {
		const world = await open();
		const { server, session } = world;
		const caller = await (callers[name] as (typeof callers)[string])(world);
		const known = new Set((await tokensOf(world)).keys());
		const [webhooks, excess, made] = [new Set<string>(), [] as string[], new Set<string>()];
		const judge = (what: string, facts: Partial<Facts>) => {
			made.add(what.split(" of ")[0] ?? what);
			for (const one of excessOf(world, facts, caller)) excess.push(`${what}: ${one}`);
		};
		const routes = [...server.routes].sort((a, b) => Number(isLast(a)) - Number(isLast(b)));
		expect(routes.length).toBeGreaterThan(100);
		for (const route of routes) {
			for (const body of bodiesOf(route, world, caller)) {
				const where = `${route.method} ${route.url} ${JSON.stringify(body) ?? ""}`;
				const headers = { ...(route.isSocket ? socketHeaders : {}), ...(await caller.headers()) };
				const path = pathOf(route, session);
				const answer = await call(world, caller, { method: route.method, path, headers, body });
				if (answer.status >= 300 || answer.status === 101) continue;
				for (const [id, token] of await tokensOf(world)) {
					if (!known.has(id)) judge(`token of ${where}`, token);
					known.add(id);
				}
				if (answer.headers["set-cookie"] && route.url === "/v1/signin") {
					judge(`cookie of ${where}`, await factsOf(world, shownBy(answer)));
				}
				if (route.url === "/v1/tickets") {
					const right = (body as { right: string }).right === "read" ? "view" : "control";
					judge(`ticket of ${where}`, { scopes: [`session:${session}:${right}`] });
				}
				if (route.url === "/v1/signin-links") {
					const code = new URL((JSON.parse(answer.text) as { url: string }).url).searchParams.get("code") ?? "";
					const signed = await call(world, {}, { method: "POST", path: "/v1/signin", headers: {}, body: { code } });
					judge(`sign-in code of ${where}`, await factsOf(world, shownBy(signed)));
				}
				if (route.url === "/v1/webhooks" && route.method === "POST") {
					const { id, workspace } = JSON.parse(answer.text) as { id: string; workspace: string | null };
					if (!webhooks.has(id)) {
						const scopes = [workspace === null ? "admin" : `workspace:${workspace}:manage`];
						judge(`webhook of ${where}`, { scopes });
					}
					webhooks.add(id);
				}
			}
		}
		expect(excess).toEqual([]);
		// Every existing token has been judged, whatever the status of the request that created it.
		for (const id of (await tokensOf(world)).keys()) expect(known.has(id)).toBe(true);
		// It created what it may, so the empty list above is meaningful.
		const isTicket = name.startsWith("a ticket");
		expect(made.has("token")).toBe(!isTicket && !name.endsWith("a JWT"));
		expect(made.has("sign-in code")).toBe(!isTicket);
		if (isTicket) expect([...made]).toEqual([]);
	},
	120_000,
);
