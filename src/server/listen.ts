/** The HTTP server: which hosts and callers it answers, how long it waits for them, and the fronts behind it. */

import { createHash, timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { SessionError } from "../core/errors.ts";
import type { Authorize, Front, Hosting, Policy, Principal } from "../fronts/front.ts";
import { answerErrors, toMessage } from "../fronts/native/errors.ts";
import { type ErrorMessage, limits } from "../protocol/messages.ts";

export type ListenOptions = {
	readonly host: string;
	/** Zero picks a free one. */
	readonly port: number;
	readonly fronts: readonly Front[];
	readonly authorize: Authorize;
	/** Names under which we may be asked for, besides the loopback ones and `host`. */
	readonly allowedHosts?: readonly string[];
	readonly report: Hosting["report"];
};

export type Listener = {
	/** Where to reach us, without a slash at the end. */
	readonly url: string;
	readonly port: number;
	/** Answers who waits, closes every connection and resolves when none is left. Idempotent. */
	close(): Promise<void>;
};

/** A client that does not send its request in this time is not one. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node looks for such clients; by its default the 10 s would be up to 40. */
const CHECK_MS = 2_000;
/** How long an answer may still take once the server closes. */
const CLOSING_MS = 2_000;

export async function listen(options: ListenOptions): Promise<Listener> {
	const closing = new AbortController();
	// Every request that waits listens to it, so that many are no sign of a leak.
	setMaxListeners(0, closing.signal);
	const app = assemble(options, { closing: closing.signal, report: options.report });
	await app.listen({ host: options.host, port: options.port });
	const { port } = app.server.address() as AddressInfo;
	let closed: Promise<void> | undefined;
	return {
		url: `http://${inUrl(options.host)}:${port}`,
		port,
		close() {
			closed ??= (async () => {
				closing.abort();
				const timer = setTimeout(() => app.server.closeAllConnections(), CLOSING_MS);
				await app.close();
				clearTimeout(timer);
			})();
			return closed;
		},
	};
}

/** The admin token's bearer may do everything, nobody else anything. */
export function adminOnly(token: string): Authorize {
	const expected = digest(token);
	return (credential: string | undefined, policy: Policy): Principal => {
		// Digests have one length, so the comparison takes the same time whatever was sent.
		const isAdmin = timingSafeEqual(digest(credential ?? ""), expected) && token !== "";
		if (isAdmin) return { name: "admin", isAdmin: true, may: () => true };
		if (policy === "public") return { name: "anonymous", isAdmin: false, may: () => false };
		throw new SessionError(
			"unauthenticated",
			credential === undefined ? "a token is required" : "the token is not valid",
			{
				hint: "send it as Authorization: Bearer TOKEN; the server keeps it in its state directory, in admin-token",
			},
		);
	};
}

/** For a server that trusts whoever can reach it. */
export const anybody: Authorize = () => ({ name: "anybody", isAdmin: true, may: () => true });

function assemble({ fronts, authorize, ...options }: ListenOptions, hosting: Hosting): FastifyInstance {
	const app = fastify({
		bodyLimit: limits.bodyBytes,
		requestTimeout: REQUEST_TIMEOUT_MS,
		http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CHECK_MS },
		forceCloseConnections: "idle",
		exposeHeadRoutes: false,
		logger: false,
		// Three places where Fastify would answer in a shape of its own.
		return503OnClosing: false,
		frameworkErrors: (error, _request, reply: unknown) =>
			(reply as FastifyReply).code(400).send(refusal(error.message)),
		clientErrorHandler: (error, socket) => refuseRaw(error, socket),
		routerOptions: { ignoreTrailingSlash: true },
	});
	app.decorateRequest("principal", null);
	answerErrors(app, hosting);
	app.setNotFoundHandler((request, reply) => {
		const path = request.url.split("?", 1)[0]?.slice(0, 200);
		return reply.code(404).send(toMessage(new SessionError("unsupported", `there is no ${request.method} ${path}`)));
	});
	const hosts = allowedHosts(options);
	// Before anything else: a page that made its name point at us (DNS rebinding) must not get any answer.
	app.addHook("onRequest", async (request) => checkHost(request, hosts));
	for (const front of fronts) app.register(async (scope) => host(front, scope, authorize, hosting));
	return app;
}

/** Gives a front its own scope, in which no route exists without a policy and none is reached without it. */
function host(front: Front, scope: FastifyInstance, authorize: Authorize, hosting: Hosting): void {
	scope.addHook("onRoute", ({ method, url, config }) => {
		if (config?.policy === undefined)
			throw new Error(`invariant: ${front.name} declares no policy for ${method} ${url}`);
	});
	scope.addHook("onRequest", async (request) => {
		const { policy } = request.routeOptions.config;
		if (policy === undefined) throw new Error("invariant: a request without a policy");
		request.principal = authorize(front.credential(request), policy);
	});
	front.register(scope, hosting);
}

function allowedHosts({ host, allowedHosts = [] }: Pick<ListenOptions, "host" | "allowedHosts">): ReadonlySet<string> {
	return new Set(["localhost", "127.0.0.1", "[::1]", inUrl(host), ...allowedHosts].map((name) => name.toLowerCase()));
}

function checkHost(request: FastifyRequest, hosts: ReadonlySet<string>): void {
	const name = (request.headers.host ?? "").toLowerCase().replace(/:\d+$/, "");
	if (hosts.has(name)) return;
	throw new SessionError("permission_denied", `this server does not answer for the host ${JSON.stringify(name)}`, {
		hint: "add it to the allowed hosts (HAWSER_ALLOWED_HOSTS)",
	});
}

/** What is not even a request. */
function refuseRaw(error: NodeJS.ErrnoException, socket: Socket): void {
	if (error.code === "ECONNRESET" || !socket.writable) {
		socket.destroy();
		return;
	}
	const status = rawStatus[error.code ?? ""] ?? "400 Bad Request";
	const body = JSON.stringify(refusal(`this is no HTTP request that can be answered (${error.code})`));
	const head = ["content-type: application/json; charset=utf-8", `content-length: ${body.length}`, "connection: close"];
	socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${body}`);
}

const rawStatus: Readonly<Record<string, string>> = {
	ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
	HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

function refusal(message: string): ErrorMessage {
	return toMessage(new SessionError("invalid_argument", message));
}

function inUrl(host: string): string {
	return host.includes(":") ? `[${host}]` : host;
}

function digest(text: string): Buffer {
	return createHash("sha256").update(text).digest();
}
