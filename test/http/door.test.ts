import { once } from "node:events";
import { createConnection } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { FailedLogins } from "../../src/access/failed-logins.ts";
import { SessionError } from "../../src/core/errors.ts";
import type { Principal } from "../../src/core/policy/access.ts";
import { answerErrors } from "../../src/http/errors.ts";
import type { Front, RoutePolicy } from "../../src/http/front.ts";
import { type Listener, type ListenOptions, listen } from "../../src/http/listen.ts";
import { createAcceptor } from "../../src/http/upgrade.ts";
import { ADMIN_TOKEN, type Opened, openAccess, shownBy } from "../access/open-access.ts";
import { FakeClock } from "../support/fake-clock.ts";

let listener: Listener | undefined;
afterEach(() => listener?.close());

/** A front with one socket and one route, which records admitted callers. */
function front(seen: Principal[], policy: RoutePolicy = "read"): Front {
	return {
		name: "small",
		credential: (request) => /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1],
		register(app, hosting) {
			answerErrors(app, hosting);
			const accept = createAcceptor({ maxPayload: 1024, subprotocol: "hawser.v1" });
			app.get("/socket/:id", { config: { policy, isSocket: true } }, async (request, reply) => {
				const socket = accept(request, reply);
				if (request.principal) seen.push(request.principal);
				request.principal?.revoked.addEventListener("abort", () => socket?.close(4003));
			});
			app.get("/hidden", { config: { policy, isSocket: true } }, async () => {
				throw new SessionError("session_not_found", "there is no such session");
			});
			app.post("/make", { config: { policy: "manage", makes: true } }, async () => "made");
			app.get("/look", { config: { policy } }, async () => "seen");
		},
	};
}

async function serve(changes: Partial<ListenOptions> = {}, policy?: RoutePolicy) {
	const opened = await openAccess();
	const seen: Principal[] = [];
	listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front(seen, policy)],
		authorize: (caller) => opened.access.authorize(caller),
		report: () => {},
		...changes,
	});
	const { url, port } = listener;
	return { ...opened, seen, url, origin: `http://127.0.0.1:${port}`, socketUrl: `ws://127.0.0.1:${port}/socket/s1` };
}

type Knock = { url: string; headers?: Record<string, string>; protocols?: string[] };

/** 101 and the chosen subprotocol, or the status of the refusal. */
async function knock({ url, headers = {}, protocols = ["hawser.v1"] }: Knock) {
	const socket = new WebSocket(url, protocols, { headers });
	socket.on("error", () => {});
	const [outcome] = await Promise.race([
		once(socket, "open").then(() => [{ status: 101, protocol: socket.protocol }]),
		once(socket, "unexpected-response").then(([, response]: { statusCode: number; headers: object }[]) => [
			{ status: response?.statusCode, headers: JSON.stringify(response?.headers) },
		]),
	]);
	return { ...outcome, socket } as { status: number; protocol?: string; headers?: string; socket: WebSocket };
}

const authorization = `Bearer ${ADMIN_TOKEN}`;

/** The headers of a page in a signed-in browser. */
async function pageOf({ access }: Opened): Promise<Record<string, string>> {
	const { cookies, pageKey = "" } = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
	return { cookie: cookies, "hawser-key": pageKey };
}

describe("an upgrade", () => {
	it("an upgrade is admitted like a request, before the handshake", async () => {
		const { socketUrl, seen, url } = await serve();
		expect(await knock({ url: socketUrl })).toMatchObject({ status: 401 });
		expect(await knock({ url: socketUrl, headers: { authorization: "Bearer wrong" } })).toMatchObject({ status: 401 });
		expect(await knock({ url: socketUrl, headers: { authorization, host: "evil.test" } })).toMatchObject({
			status: 403,
		});
		expect(seen).toEqual([]);
		const hidden = `${url.replace("http", "ws")}/hidden`;
		expect(await knock({ url: hidden, headers: { authorization } })).toMatchObject({ status: 404 });
		const nowhere = `${url.replace("http", "ws")}/nowhere`;
		expect(await knock({ url: nowhere, headers: { authorization } })).toMatchObject({ status: 404 });
		const { status, socket } = await knock({ url: socketUrl, headers: { authorization } });
		expect([status, seen.map(({ id }) => id)]).toEqual([101, ["admin"]]);
		socket.terminate();
	});

	it("a refused upgrade leaves no connection behind", async () => {
		const { url } = await serve();
		const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
		const key = "AAAAAAAAAAAAAAAAAAAAAA==";
		const head = ["GET /socket/s1 HTTP/1.1", "host: localhost", "connection: upgrade", "upgrade: websocket"];
		socket.write([...head, "sec-websocket-version: 13", `sec-websocket-key: ${key}`, "", ""].join("\r\n"));
		let answer = "";
		socket.on("data", (chunk) => {
			answer += chunk;
		});
		await once(socket, "close");
		expect(answer).toMatch(/^HTTP\/1.1 401 /);
		expect(answer).toContain('"unauthenticated"');
	});

	it("an upgrade with two hosts is refused, in either order", async () => {
		const { url } = await serve();
		const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
		const hosts = ["host: localhost", "host: elsewhere.example"];
		const head = ["GET /look HTTP/1.1", ...hosts, `authorization: Bearer ${ADMIN_TOKEN}`, "connection: close"];
		socket.write([...head, "", ""].join("\r\n"));
		let answer = "";
		for await (const chunk of socket) answer += String(chunk);
		expect(answer).toMatch(/^HTTP\/1.1 400 /);
		expect(answer).toContain('"invalid_argument"');
	});

	it("an upgrade for the operator is forbidden to other callers", async () => {
		const { socketUrl, access } = await serve({}, "admin");
		const { secret } = await access.createToken(access.admin, { scopes: ["workspace:red:manage"] });
		expect(await knock({ url: socketUrl, headers: { authorization: `Bearer ${secret}` } })).toMatchObject({
			status: 403,
		});
	});

	it("an upgrade by cookie needs the origin of the server's own pages", async () => {
		const opened = await serve();
		const { socketUrl, origin } = opened;
		const page = await pageOf(opened);
		expect(await knock({ url: socketUrl, headers: page })).toMatchObject({ status: 401 });
		const { cookie = "" } = page;
		expect(await knock({ url: socketUrl, headers: { cookie, origin } })).toMatchObject({ status: 401 });
		for (const wrong of ["https://evil.test", "null", `${origin}.evil.test`, "http://127.0.0.1:1", ""]) {
			expect(await knock({ url: socketUrl, headers: { ...page, origin: wrong } })).toMatchObject({ status: 403 });
		}
		const { status, socket } = await knock({ url: socketUrl, headers: { ...page, origin } });
		expect(status).toBe(101);
		socket.terminate();
	});

	it("an upgrade by ticket is answered without the ticket, once", async () => {
		const { socketUrl, origin, access, seen } = await serve();
		const { ticket } = access.createTicket(access.admin, { session: "s1", right: "read", origin });
		const protocols = ["hawser.v1", `ticket.${ticket}`];
		const first = await knock({ url: socketUrl, headers: { origin }, protocols });
		expect(first).toMatchObject({ status: 101, protocol: "hawser.v1" });
		expect(seen[0]?.may("read", { workspace: "red", session: "s1" })).toBe(true);
		expect(seen[0]?.may("read", { workspace: "red", session: "s3" })).toBe(false);
		first.socket.terminate();
		const again = await knock({ url: socketUrl, headers: { origin }, protocols });
		expect(again.status).toBe(401);
		expect(again.headers).not.toContain(ticket);
	});

	it("a page of another origin does not use up a ticket", async () => {
		const { socketUrl, origin, access } = await serve();
		const { ticket } = access.createTicket(access.admin, { session: "s1", right: "read", origin });
		const protocols = ["hawser.v1", `ticket.${ticket}`];
		const foreign = { url: socketUrl, headers: { origin: "https://evil.test" }, protocols };
		expect(await knock(foreign)).toMatchObject({ status: 403 });
		const { status, socket } = await knock({ url: socketUrl, headers: { origin }, protocols });
		expect(status).toBe(101);
		socket.terminate();
	});

	it("a socket is closed when its token is revoked", async () => {
		const { socketUrl, access } = await serve();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["workspace:red:read"] });
		const { socket } = await knock({ url: socketUrl, headers: { authorization: `Bearer ${secret}` } });
		const closed = once(socket, "close");
		await access.revokeToken(access.admin, token.id);
		expect((await closed)[0]).toBe(4003);
	});

	it("upgrades and changing requests are refused to pages of other origins, unless those are allowed", async () => {
		const { url, origin } = await serve({ allowedOrigins: ["https://ide.example"] });
		const status = async (method: string, from: string) =>
			(
				await fetch(`${url}/${method === "GET" ? "look" : "make"}`, {
					method,
					headers: { authorization, origin: from },
				})
			).status;
		expect(await status("POST", "https://evil.test")).toBe(403);
		expect(await status("POST", "https://ide.example")).toBe(200);
		expect(await status("POST", origin)).toBe(200);
		expect(await status("GET", "https://evil.test")).toBe(200);
	});
});

describe("a client with many wrong credentials", () => {
	it("an address with many wrong credentials has to wait, but a valid credential is accepted at once", async () => {
		const clock = new FakeClock();
		const failures = new FailedLogins(clock);
		const { url, socketUrl } = await serve({ noteFailure: (address) => failures.note(address) });
		const look = (token?: string) =>
			fetch(`${url}/look`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
		for (let index = 0; index < 20; index++) expect((await look()).status).toBe(401);
		for (let index = 0; index < 10; index++) expect((await look(`wrong-${index}`)).status).toBe(401);
		const refused = await look("wrong");
		expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
		expect(await refused.json()).toMatchObject({ error: { code: "limit_exceeded" } });
		expect(await knock({ url: socketUrl, headers: { authorization: "Bearer wrong" } })).toMatchObject({ status: 429 });
		expect((await look(ADMIN_TOKEN)).status).toBe(200);
		clock.advance(1_000);
		expect((await look("wrong")).headers.get("retry-after")).toBe("2");
	});
});

describe("limits", () => {
	it("starts above the rate are refused with the time to wait", async () => {
		const { url, clock } = await serve();
		const make = () => fetch(`${url}/make`, { method: "POST", headers: { authorization } });
		for (let index = 0; index < 100; index++) expect((await make()).status).toBe(200);
		const refused = await make();
		expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
		expect(await refused.json()).toMatchObject({ error: { code: "limit_exceeded" } });
		clock.advance(50);
		expect((await make()).status).toBe(200);
	});
});

it("every answer has headers against type guessing, framing and address leaks", async () => {
	const { url } = await serve();
	for (const path of ["/look", "/nowhere"]) {
		const { headers } = await fetch(`${url}${path}`);
		expect(headers.get("x-content-type-options")).toBe("nosniff");
		expect(headers.get("referrer-policy")).toBe("no-referrer");
		expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
	}
});
