/** Where we listen, and the fronts behind the door there. */

import { setMaxListeners } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, type RouteOptions } from "fastify";
import type { Authorize } from "../core/access.ts";
import { type Audit, noAudit } from "../core/audit.ts";
import { SessionError } from "../core/errors.ts";
import type { Gatekeeper } from "../core/gatekeeper.ts";
import { answerErrors, errorMessage } from "../fronts/errors.ts";
import { type Front, type Hosting, type Policy, policies } from "../fronts/front.ts";
import { isNotApproved } from "../fronts/not-approved.ts";
import { limits } from "../protocol/messages.ts";
import { limitBodies } from "./bodies.ts";
import { type Budgets, createBudgets } from "./budgets.ts";
import { Connections, placesWithin } from "./connections.ts";
import { answerOrigin } from "./cors.ts";
import {
	admit,
	checkHost,
	checkOrigin,
	checkProgram,
	identify,
	isUpgrade,
	type NoteFailure,
	noteRefusal,
	type Oversight,
	witness,
} from "./door.ts";
import { createHttpServer, type HttpServerOptions, invalid, refuseRaw } from "./http-server.ts";
import { Turns } from "./turns.ts";
import { routeUpgrades } from "./upgrades.ts";

export type ListenOptions = HttpServerOptions & {
	readonly host: string;
	/** Zero picks a free one. */
	readonly port: number;
	/** A Unix socket to listen on, instead of all that. */
	readonly socketPath?: string;
	readonly fronts: readonly Front[];
	readonly authorize: Authorize;
	/** Names under which we may be asked for, besides the loopback ones and `host`. */
	readonly allowedHosts?: readonly string[];
	/** Pages that may use us, besides those that come from where we are. */
	readonly allowedOrigins?: readonly string[];
	/**
	 * Takes requests for every host and from every page, as the server that one front stands in for does; or from
	 * nobody who names an origin, whichever; or from programs alone, who need not name us, but whom no page of somebody
	 * else can pretend to be.
	 */
	readonly isOpen?: "to everybody" | "to all without origin" | "to programs";
	/** Answers what there is no route for; in the words of the native front, if left out. */
	readonly answerUnknown?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;
	/** Whether browsers reach us over TLS that somebody else does. */
	readonly behindProxy?: boolean;
	/** Slows down who shows one wrong credential after the other; nobody, if left out. */
	readonly noteFailure?: NoteFailure;
	/** What callers may have of sessions at a time; the usual, if left out, and for this port alone. */
	readonly budgets?: Budgets;
	readonly maxConnections?: number;
	/** Hears of who does what; nobody does, if left out. */
	readonly audit?: Audit;
	/** Holds what callers with gates do; to be left out where there are none. */
	readonly gatekeeper?: Gatekeeper;
	/** Hears of every route there is, when it is added. */
	readonly onRoute?: (route: Route) => void;
	readonly report: Hosting["report"];
};

export type Route = {
	readonly front: string;
	readonly method: string;
	readonly url: string;
	readonly policy: Policy;
	readonly isSocket: boolean;
};

export type Listener = {
	/** Where to reach us, without a slash at the end. */
	readonly url: string;
	readonly port: number;
	/** Serves a connection that came from elsewhere than our port. It is trusted as it is: no TLS is spoken on it, and it takes no place of those at the port. */
	accept(connection: Duplex): void;
	/** Answers who waits, closes every connection and resolves when none is left. Idempotent. */
	close(): Promise<void>;
};

/** How long an answer may still take once the server closes. */
const CLOSING_MS = 2_000;
const DEFAULT_MAX_CONNECTIONS = 4096;
/**
 * How many connections may wait to be accepted, as far as the kernel allows. Of one more, the first word is dropped, and
 * it is a second before it is said again.
 */
const BACKLOG = 4096;

/** For everything that is answered; a page that needs more says so itself. */
const safeHeaders = {
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"content-security-policy": "default-src 'none'; frame-ancestors 'none'",
	"cross-origin-resource-policy": "same-origin",
} as const;

export async function listen(options: ListenOptions): Promise<Listener> {
	const closing = new AbortController();
	// Every request that waits listens to it, so that many are no sign of a leak.
	setMaxListeners(0, closing.signal);
	const { host, socketPath, report, maxConnections = DEFAULT_MAX_CONNECTIONS, budgets = createBudgets() } = options;
	const { bodies, heldBodies, ...shared } = budgets;
	const turns = new Turns();
	const connections = new Connections(placesWithin(maxConnections), (connection) => !turns.isUnderWay(connection));
	const hosting: Hosting = {
		closing: closing.signal,
		report: (problem, where) => {
			// Somebody's decision, and no fault: what is ended in the background has nobody else to tell it to.
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
	// Node forgets the connections that were upgraded, but waits for them all the same when it closes.
	const open = new Set<Duplex>();
	const know = (connection: Duplex) => {
		open.add(connection);
		connection.once("close", () => open.delete(connection));
	};
	app.server.on("connection", (connection: Socket) => {
		// From elsewhere: who made it decides how many there are.
		if (open.has(connection)) return;
		know(connection);
		// Who may open a socket is its owner, and has no address to be counted by.
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
			// What has no TLS is to a server with TLS like a connection whose handshake is over.
			app.server.emit(options.tls ? "secureConnection" : "connection", connection);
		},
		close() {
			closed ??= (async () => {
				closing.abort();
				const timer = setTimeout(() => {
					for (const socket of open) socket.destroy();
				}, CLOSING_MS);
				await app.close();
				// Node waits only for those that it accepted itself.
				await Promise.all([...open].map((connection) => new Promise((done) => connection.once("close", done))));
				clearTimeout(timer);
			})();
			return closed;
		},
	};
}

type Traffic = Pick<Budgets, "bodies" | "heldBodies"> & { readonly turns: Turns; readonly connections: Connections };

function assemble(options: ListenOptions, hosting: Hosting, traffic: Traffic): FastifyInstance {
	const { turns } = traffic;
	const app = fastify({
		bodyLimit: limits.bodyBytes,
		serverFactory: (handle) => createHttpServer(options, turns, handle),
		forceCloseConnections: "idle",
		exposeHeadRoutes: false,
		logger: false,
		// Fronts with schemas bring compilers of their own; to load Fastify's would take a tenth of the start.
		schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
		// Three places where Fastify would answer in a shape of its own.
		return503OnClosing: false,
		// Its own message would repeat the whole address, with whatever somebody put into its query.
		frameworkErrors: (error, _request, reply: unknown) =>
			(reply as FastifyReply).code(400).send(invalid(`this is not a valid address (${error.code})`)),
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
	// Before anything else, and for what is not there as well.
	app.addHook("onRequest", async (request, reply) => {
		witness(request, undefined, oversightOf(options));
		reply.headers(safeHeaders);
		if (isUpgrade(request)) reply.header("connection", "close");
		if (options.isOpen === "to everybody") return;
		if (options.isOpen === "to all without origin") {
			if (request.headers.origin !== undefined) await reply.code(403).send();
			return;
		}
		if (options.isOpen === "to programs") return checkProgram(request);
		checkHost(request, hosts);
		checkOrigin(request, origins);
		if (answerOrigin(request, reply, origins.allowed)) await reply.code(204).send();
	});
	app.addHook("onError", async (request, _reply, error) => noteRefusal(request, error));
	limitBodies(app, traffic);
	routeUpgrades(app, turns, hosting.closing);
	for (const front of options.fronts) app.register(async (scope) => host(front, scope, options, hosting, traffic));
	return app;
}

function noCompiler(): never {
	throw new Error("invariant: a front with schemas, and no compilers for them");
}

function answerUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
	const path = request.url.split("?", 1)[0]?.slice(0, 200);
	return reply.code(404).send(errorMessage(new SessionError("not_found", `there is no ${request.method} ${path}`)));
}

/** Gives a front its own scope, in which no route exists without a policy and none is reached without it. */
function host(
	front: Front,
	scope: FastifyInstance,
	options: ListenOptions,
	hosting: Hosting,
	{ connections }: Traffic,
): void {
	const { authorize, noteFailure, onRoute } = options;
	const oversight = oversightOf(options);
	scope.addHook("onRoute", (route) => {
		for (const checked of routesOf(front, route)) onRoute?.(checked);
	});
	// An upgrade is a request until it is answered: it passes here like any other.
	scope.addHook("onRequest", async (request, reply) => {
		await admit(request, reply, { front, oversight, authorize, noteFailure });
		if (request.principal) connections.recognise(request.raw.socket, request.principal);
	});
	front.register(scope, hosting);
}

function oversightOf({ audit = noAudit, gatekeeper }: ListenOptions): Oversight {
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
