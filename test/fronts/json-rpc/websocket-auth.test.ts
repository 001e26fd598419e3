/** Access to the WebSocket of a Codex drop-in. Every answer is the one of codex-cli 0.166.0. */

import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { WebSocketAuth } from "../../../src/access/codex-websocket-auth.ts";
import { startAppServer } from "../../../src/server/dropins/codex-app.ts";
import { startExecServer } from "../../../src/server/dropins/codex-exec.ts";

type Start = (auth: WebSocketAuth) => Promise<string>;

const here = { host: "127.0.0.1", port: 0 } as const;

const startExec: Start = async (auth) => {
	const server = await startExecServer({ ...here, auth }, { concurrency: 1, report: () => {} });
	onTestFinished(() => server.close());
	return server.url;
};

const startApp: Start = async (auth) => {
	const options = { policy: { type: "dangerFullAccess" }, report: () => {} } as const;
	const server = await startAppServer({ kind: "tcp", ...here, auth }, options);
	onTestFinished(() => server.close());
	return server.url;
};

/** 101, or the status and body of the refusal. */
async function upgrade(url: string, headers: Record<string, string>): Promise<string> {
	const socket = new WebSocket(url, { headers });
	socket.on("error", () => {});
	return new Promise((resolve) => {
		socket.once("open", () => {
			socket.terminate();
			resolve("101");
		});
		socket.once("unexpected-response", async (_request, response: IncomingMessage) => {
			resolve(`${response.statusCode} ${await text(response)}`.trim());
		});
	});
}

const bearing = (url: string, token: string) => upgrade(url, { authorization: `Bearer ${token}` });

describe.each([
	["exec-server", startExec],
	["app-server", startApp],
])("%s", (_name, start) => {
	const token = { kind: "capability-token", sha256: createHash("sha256").update("good").digest("hex") } as const;

	it("a client with the token is accepted, in any spelling of Bearer", async () => {
		const url = await start(token);
		for (const authorization of ["Bearer good", "bearer good", "BEARER   good  "])
			expect(await upgrade(url, { authorization })).toBe("101");
	});

	it.each([
		[{}, "401 missing websocket bearer token"],
		[{ authorization: "Bearer wrong" }, "401 invalid websocket bearer token"],
		[{ authorization: "Bearer" }, "401 invalid authorization header"],
		[{ authorization: "Basic Zzpn" }, "401 invalid authorization header"],
		[{ authorization: "good" }, "401 invalid authorization header"],
		[{ authorization: "Bearer good", origin: "http://127.0.0.1" }, "403"],
		[{ origin: "http://127.0.0.1" }, "403"],
	])("%j is answered with %s", async (headers, answer) => {
		expect(await upgrade(await start(token), headers)).toBe(answer);
	});

	it("requests without a token get health checks, and errors for non-upgrades", async () => {
		const http = (await start(token)).replace("ws:", "http:");
		const statusOf = async (path: string, init: RequestInit = {}) => (await fetch(http + path, init)).status;
		expect(await statusOf("/readyz")).toBe(200);
		expect(await statusOf("/readyz", { headers: { origin: "http://x" } })).toBe(403);
		expect(await statusOf("/")).toBe(400);
		expect(await statusOf("/", { method: "HEAD" })).toBe(405);
	});
});

describe("a signed token", () => {
	const secret = "0123456789abcdef0123456789abcdef";
	const signed = { kind: "signed-bearer-token", secret, clockSkewSeconds: 30 } as const;
	const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
	const in60s = () => Math.floor(Date.now() / 1000) + 60;

	function sign(claims: object, { key = secret, header = { alg: "HS256" } as object, hash = "sha256" } = {}): string {
		const said = `${encoded(header)}.${encoded(claims)}`;
		return `${said}.${createHmac(hash, key).update(said).digest("base64url")}`;
	}

	it("a signed token is valid from nbf until exp, within the clock skew", async () => {
		const url = await startExec(signed);
		expect(await bearing(url, sign({ exp: in60s(), sub: "anybody" }))).toBe("101");
		expect(await bearing(url, sign({ exp: in60s() - 80 }))).toBe("101");
		expect(await bearing(url, sign({ exp: in60s() - 120 }))).toBe("401 expired websocket jwt");
		expect(await bearing(url, sign({ exp: in60s(), nbf: in60s() - 40 }))).toBe("101");
		expect(await bearing(url, sign({ exp: in60s(), nbf: in60s() }))).toBe("401 websocket jwt is not valid yet");
	});

	it("a signed token requires a valid signature by the only algorithm, and readable claims", async () => {
		const url = await startExec(signed);
		const exp = in60s();
		const unsigned = `${encoded({ alg: "none" })}.${encoded({ exp })}.`;
		const faulty = [
			sign({ exp }, { key: "x".repeat(32) }),
			sign({ exp }, { header: { alg: "HS512" }, hash: "sha512" }),
			sign({ exp }, { header: { alg: "HS512" } }),
			unsigned,
			`${sign({ exp })}=`,
			`${sign({ exp })}.more`,
			"no.token",
			sign({}),
			sign({ exp: exp + 0.5 }),
			sign({ exp: String(exp) }),
			sign({ exp, nbf: "now" }),
			sign({ exp, iss: 5 }),
			sign({ exp, aud: [5] }),
			sign([exp]),
			sign({ exp }, { header: { alg: "HS256", crit: ["exp"] } }),
		];
		for (const token of faulty) expect(await bearing(url, token)).toBe("401 invalid websocket jwt");
	});

	it.each([
		["exec-server", startExec],
		["app-server", startApp],
	])("an expired signed token ends the connections of %s that it opened", async (_name, start) => {
		const url = await start({ ...signed, clockSkewSeconds: 0 });
		/** Undefined if the token has expired by then. */
		const open = (exp: number) => {
			const socket = new WebSocket(url, { headers: { authorization: `Bearer ${sign({ exp })}` } });
			socket.on("error", () => {});
			onTestFinished(() => socket.terminate());
			const closed = new Promise((resolve) => socket.once("close", resolve));
			return new Promise<{ socket: WebSocket; closed: Promise<unknown> } | undefined>((resolve) => {
				socket.once("open", () => resolve({ socket, closed }));
				socket.once("unexpected-response", () => resolve(undefined));
			});
		};
		type Two = { readonly exp: number; readonly closed: Promise<unknown>[] };
		/** Both in time: if a token expired before the second connection, one with a longer life follows. */
		const openTwo = async (seconds: number): Promise<Two> => {
			const exp = Math.floor(Date.now() / 1000) + seconds;
			const [first, second] = [await open(exp), await open(exp)];
			if (first && second) return { exp, closed: [first.closed, second.closed] };
			expect(Date.now() / 1000).toBeGreaterThan(exp);
			return openTwo(2 * seconds);
		};
		const long = await open(in60s());
		const { exp, closed } = await openTwo(1);
		await Promise.all(closed);
		expect(Date.now() / 1000).toBeGreaterThan(exp);
		expect(await bearing(url, sign({ exp }))).toBe("401 expired websocket jwt");
		expect(long?.socket.readyState).toBe(WebSocket.OPEN);
	});

	it("a signed token must match the configured issuer and audience", async () => {
		const url = await startExec({ ...signed, issuer: "us", audience: "me" });
		const claims = { exp: in60s(), iss: "us", aud: ["others", "me"] };
		expect(await bearing(url, sign(claims))).toBe("101");
		expect(await bearing(url, sign({ ...claims, aud: "me" }))).toBe("101");
		expect(await bearing(url, sign({ ...claims, iss: null }))).toBe("401 websocket jwt issuer mismatch");
		expect(await bearing(url, sign({ ...claims, aud: "others" }))).toBe("401 websocket jwt audience mismatch");
	});
});

it("a missing token differs from an empty one", async () => {
	const url = await startExec({ kind: "capability-token", sha256: createHash("sha256").update("").digest("hex") });
	expect(await upgrade(url, {})).toMatch(/^401/);
	const socket = new WebSocket(url, { headers: { authorization: "Bearer " } });
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
	expect(response.statusCode).toBe(401);
});
