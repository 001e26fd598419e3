/** Listens on an address and serves the fronts there, behind admission. */

import { setMaxListeners } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, type RouteOptions } from "fastify";
import { limits } from "../api/messages.ts";
import { SessionError } from "../core/errors.ts";
import type { Authorize } from "../core/policy/access.ts";
import { type Audit, noAudit } from "../core/policy/audit.ts";
import type { GateChecks } from "../core/policy/gates.ts";
import { isNotApproved } from "../core/policy/not-approved.ts";
import { limitBodies, parseBodies } from "./bodies.ts";
import { answerOrigin } from "./cors.ts";
import {
	type AuditAndGates,
	admit,
	type CountFailedCredential,
	checkHost,
	checkOneHost,
	checkOrigin,
	checkProgram,
	identify,
	noteRefusal,
	setAuditedCaller,
} from "./door.ts";
import { answerErrors, errorMessage } from "./errors.ts";
import { type Front, policies, type RoutePolicy, type ServerContext } from "./front.ts";
import { createBudgets, type SharedLimits } from "./limits/budgets.ts";
import { Connections, connectionLimit } from "./limits/connections.ts";
import { createHttpServer, type HttpServerOptions, invalid, refuseRaw } from "./node-server.ts";
import { Pipelining } from "./pipelining.ts";
import { isUpgradable } from "./upgrade.ts";
import { routeUpgrades } from "./upgrade-routing.ts";

export type ListenOptions = HttpServerOptions & {
	readonly host: string;
	/** 0 picks a free port. */
	readonly port: number;
	/** A Unix socket to listen on, instead of host and port. */
	readonly socketPath?: string;
	readonly fronts: readonly Front[];
	readonly authorize: Authorize;
	/** Host names accepted besides the loopback ones and `host`. */
	readonly allowedHosts?: readonly string[];
	/** Origins whose pages may use the API, besides the server's own. */
	readonly allowedOrigins?: readonly string[];
	/**
	 * Replaces the checks of host and origin, for servers that stand in for another one: no check; no request with an
	 * `Origin` header; or `checkProgram`, which refuses web pages of other origins.
	 */
	readonly isOpen?: "to all" | "to all without origin" | "to programs";
	/** Answers requests without a route. Default: an error message of the native API. */
	readonly answerUnknown?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;
	/** Whether a proxy in front of us does TLS. */
	readonly behindProxy?: boolean;
	/** Slows down an address that keeps failing. Default: no limit. */
	readonly noteFailure?: CountFailedCredential;
	/** Limits shared with other ports. Default: limits of this port alone. */
	readonly budgets?: SharedLimits;
	readonly maxConnections?: number;
	/** Default: nothing is recorded. */
	readonly audit?: Audit;
	/** Holds actions of callers with gates. Omitted where there are none. */
	readonly gatekeeper?: GateChecks;
	/** Called for every route when it is added. */
	readonly onRoute?: (route: Route) => void;
	readonly report: ServerContext["report"];
};

export type Route = {
	readonly front: string;
	readonly method: string;
	readonly url: string;
	readonly policy: RoutePolicy;
	readonly isSocket: boolean;
};

export type Listener = {
	/** The base URL, without a trailing slash. */
	readonly url: string;
	readonly port: number;
	/**
	 * Serves a connection that did not arrive at our port. It is trusted: it uses no TLS and does not count as a
	 * connection of the port.
	 */
	accept(connection: Duplex): void;
	/** Ends waiting requests and closes every connection. Resolves when none is left. Idempotent. */
	close(): Promise<void>;
};

/** Time that answers may still take after the server starts to close. */
const CLOSING_MS = 2_000;
const DEFAULT_MAX_CONNECTIONS = 4096;
/**
 * Connections that may wait to be accepted, if the kernel allows as many. It drops the first packet of one more, which
 * the client repeats after a second.
 */
const BACKLOG = 4096;

/** Sent with every answer. A page that needs other values overrides them. */
const safeHeaders = {
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"content-security-policy": "default-src 'none'; frame-ancestors 'none'",
	"cross-origin-resource-policy": "same-origin",
} as const;

export async function listen(options: ListenOptions): Promise<Listener> {
	const closing = new AbortController();
	// Each pending request adds a listener: many are not a leak.
	setMaxListeners(0, closing.signal);
	const { host, socketPath, report, maxConnections = DEFAULT_MAX_CONNECTIONS, budgets = createBudgets() } = options;
	const { bodies, heldBodies, ...shared } = budgets;
	const turns = new Pipelining();
	const connections = new Connections(connectionLimit(maxConnections), (connection) => !turns.isUnderWay(connection));
	const hosting: ServerContext = {
		closing: closing.signal,
		report: (problem, where) => {
			// Denied by a user, not an error. Background work has no caller that could get it.
			if (!isNotApproved(problem)) report(problem, where);
		},
		...shared,
		async identify(request, credential) {
			const { authorize, noteFailure } = options;
			const principal = await identify(request, credential, { authorize, noteFailure }).catch((error: unknown) => {
				noteRefusal(request, error);
				throw error;
			});
			connections.recognise(request.raw.socket, principal);
			return principal;
		},
	};
	const app = assemble(options, hosting, { turns, connections, bodies, heldBodies });
	// Node forgets upgraded connections, but still waits for them when it closes.
	const open = new Set<Duplex>();
	const know = (connection: Duplex) => {
		open.add(connection);
		connection.once("close", () => open.delete(connection));
	};
	app.server.on("connection", (connection: Socket) => {
		// Passed to `accept`: its maker limits how many there are.
		if (open.has(connection)) return;
		know(connection);
		// Only the owner of a Unix socket can open it, and it has no address to count by.
		if (socketPath === undefined) connections.add(connection);
	});
	const address = socketPath === undefined ? { host, port: options.port } : { path: socketPath };
	await app.listen({ ...address, backlog: BACKLOG });
	const port = socketPath === undefined ? (app.server.address() as AddressInfo).port : 0;
	let closed: Promise<void> | undefined;
	return {
		url:
			socketPath === undefined ? `${options.tls ? "https" : "http"}://${inUrl(host)}:${port}` : `unix://${socketPath}`,
		port,
		accept(connection) {
			if (closing.signal.aborted) {
				connection.destroy();
				return;
			}
			know(connection);
			// A server with TLS treats a connection without it as one whose handshake is done.
			app.server.emit(options.tls ? "secureConnection" : "connection", connection);
		},
		close() {
			closed ??= (async () => {
				closing.abort();
				const timer = setTimeout(() => {
					for (const socket of open) socket.destroy();
				}, CLOSING_MS);
				await app.close();
				// Node waits only for the connections it accepted itself.
				await Promise.all([...open].map((connection) => new Promise((done) => connection.once("close", done))));
				clearTimeout(timer);
			})();
			return closed;
		},
	};
}

type TrafficCounters = Pick<SharedLimits, "bodies" | "heldBodies"> & {
	readonly turns: Pipelining;
	readonly connections: Connections;
};

function assemble(options: ListenOptions, hosting: ServerContext, traffic: TrafficCounters): FastifyInstance {
	const { turns } = traffic;
	const app = fastify({
		bodyLimit: limits.publicBodyBytes,
		serverFactory: (handle) => createHttpServer(options, turns, handle),
		forceCloseConnections: "idle",
		exposeHeadRoutes: false,
		logger: false,
		// Fronts with schemas bring their own compilers. Loading Fastify's would take a tenth of the startup.
		schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
		// The next three options keep Fastify from answering in a shape of its own.
		return503OnClosing: false,
		// Fastify's own message would repeat the whole URL, including its query.
		frameworkErrors: (error, _request, reply: unknown) =>
			(reply as FastifyReply).code(400).send(invalid(`the request path is not valid (${error.code})`)),
		clientErrorHandler: (error, socket) => refuseRaw(error, socket),
		routerOptions: { ignoreTrailingSlash: true },
	});
	app.decorateRequest("principal", null);
	app.decorateRequest("witness", null);
	answerErrors(app, hosting);
	app.setNotFoundHandler(options.answerUnknown ?? answerUnknown);
	const hosts = allowedHosts(options);
	const origins = {
		scheme: options.tls || options.behindProxy ? "https:" : "http:",
		allowed: options.allowedOrigins ?? [],
	} as const;
	// First of all hooks, also for unknown paths.
	app.addHook("onRequest", async (request, reply) => {
		setAuditedCaller(request, undefined, oversightOf(options));
		reply.headers(safeHeaders);
		if (isUpgradable(request)) reply.header("connection", "close");
		if (options.isOpen === "to all") return;
		if (options.isOpen === "to all without origin") {
			if (request.headers.origin !== undefined) await reply.code(403).send();
			return;
		}
		checkOneHost(request);
		if (options.isOpen === "to programs") return checkProgram(request);
		checkHost(request, hosts);
		checkOrigin(request, origins);
		if (answerOrigin(request, reply, origins.allowed)) await reply.code(204).send();
	});
	// Answered before the body is read.
	app.addHook("onRequest", async (request, reply) => {
		if (request.is404) await (options.answerUnknown ?? answerUnknown)(request, reply);
	});
	app.addHook("onError", async (request, _reply, error) => noteRefusal(request, error));
	limitBodies(app, traffic);
	parseBodies(app, hosting.share);
	routeUpgrades(app, turns, hosting.closing);
	for (const front of options.fronts) app.register(async (scope) => host(front, scope, options, hosting, traffic));
	return app;
}

function noCompiler(): never {
	throw new Error("invariant: a front has schemas but no compilers for them");
}

function answerUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
	const path = request.url.split("?", 1)[0]?.slice(0, 200);
	return reply.code(404).send(errorMessage(new SessionError("not_found", `there is no ${request.method} ${path}`)));
}

/** Registers a front in its own scope. A route without a policy throws, and every request passes admission. */
function host(
	front: Front,
	scope: FastifyInstance,
	options: ListenOptions,
	hosting: ServerContext,
	{ connections }: TrafficCounters,
): void {
	const { authorize, noteFailure, onRoute } = options;
	const oversight = oversightOf(options);
	scope.addHook("onRoute", (route) => {
		for (const checked of routesOf(front, route)) onRoute?.(checked);
		if (route.config?.policy !== "public") route.bodyLimit ??= limits.bodyBytes;
		else if (route.bodyLimit !== undefined) throw new Error(`invariant: ${route.url} is public and takes large bodies`);
	});
	// An upgrade is a request until it is answered, and passes this hook too.
	scope.addHook("onRequest", async (request, reply) => {
		await admit(request, reply, { front, oversight, authorize, noteFailure });
		if (request.principal) connections.recognise(request.raw.socket, request.principal);
	});
	front.register(scope, hosting);
}

function oversightOf({ audit = noAudit, gatekeeper }: ListenOptions): AuditAndGates {
	return { audit, gatekeeper };
}

function routesOf(front: Front, { method, url, config }: RouteOptions): Route[] {
	const policy = policies.find((known) => known === config?.policy);
	if (policy === undefined) throw new Error(`invariant: ${front.name} declares no policy for ${method} ${url}`);
	const isSocket = config?.isSocket === true;
	return [method].flat().map((one) => ({ front: front.name, method: String(one), url, policy, isSocket }));
}

function allowedHosts({ host, allowedHosts = [] }: Pick<ListenOptions, "host" | "allowedHosts">): ReadonlySet<string> {
	return new Set(["localhost", "127.0.0.1", "[::1]", inUrl(host), ...allowedHosts].map((name) => name.toLowerCase()));
}

function inUrl(host: string): string {
	return host.includes(":") ? `[${host}]` : host;
}
