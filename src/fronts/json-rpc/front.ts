/**
 * A front with one WebSocket of JSON-RPC messages. It is a path of a larger server, or a server of its own that stands
 * in for Codex's.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { onAbort } from "../../core/async/abort.ts";
import { SessionError } from "../../core/errors.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { AuditedCaller } from "../../core/policy/audited-caller.ts";
import { defaultWorkspace } from "../../core/session/workspaces.ts";
import { auditedCallerOf, bearer, checkRight } from "../../http/caller.ts";
import type { Front, ServerContext } from "../../http/front.ts";
import { type Accept, createAcceptor, handshakeFault } from "../../http/upgrade.ts";
import { type Receiver, RpcWebSocketWire, type WebSocketWireLimits } from "./wire.ts";

/** The client of a connection. */
type RpcPeer = {
	readonly principal: Principal;
	/** Performs and audits the client's requests. */
	readonly witness: AuditedCaller;
	/** As `IP:PORT`. */
	readonly address: string;
};

/** Handles the messages of all connections. */
type RpcServer = {
	readonly limits: WebSocketWireLimits & { readonly messageBytes: number };
	readonly connect: (wire: RpcWebSocketWire, peer: RpcPeer) => Receiver;
};

type RpcFrontOptions = {
	readonly name: string;
	/** Path of the socket. */
	readonly path: string;
	/** Message types that are read: all, or only text. */
	readonly frames: "all" | "text";
	/** Health checks of a stand-alone server. */
	readonly healthPaths?: readonly string[];
	readonly open: (report: (problem: unknown) => void) => RpcServer;
};

/** The workspace of everything started over this front. */
const here = { workspace: defaultWorkspace } as const;

export function createRpcFront({ name, path, frames, healthPaths, open }: RpcFrontOptions): Front {
	return {
		name,
		credential: bearer,
		register(app: FastifyInstance, hosting: ServerContext): void {
			const server = open((problem) => hosting.report(problem, name));
			const accept = createAcceptor({ maxPayload: server.limits.messageBytes, oneAtATime: true });
			if (healthPaths) standAlone(app, path, healthPaths);
			app.get(
				path,
				{
					config: { policy: "manage", isSocket: true },
					preHandler: async (request, reply) => {
						checkRight(request, "manage", here);
						if (handshakeFault(request) !== undefined) await reply.code(400).send();
					},
				},
				async (request, reply) => serve(request, reply, { server, hosting, accept, frames }),
			);
		},
	};
}

type Scope = {
	readonly server: RpcServer;
	readonly hosting: ServerContext;
	readonly accept: Accept;
	readonly frames: RpcFrontOptions["frames"];
};

function serve(request: FastifyRequest, reply: FastifyReply, { server, hosting, accept, frames }: Scope): void {
	const { raw, principal } = request;
	if (!principal) throw new Error("invariant: a connection without a principal");
	const socket = accept(request, reply);
	if (!socket) return;
	const wire = new RpcWebSocketWire({
		socket,
		connection: raw.socket,
		limits: server.limits,
		backlog: hosting.backlog,
		share: hosting.share,
	});
	const address = `${raw.socket.remoteAddress}:${raw.socket.remotePort}`;
	wire.deliver(server.connect(wire, { principal, witness: auditedCallerOf(request), address }), frames);
	for (const signal of [hosting.closing, principal.revoked]) onAbort(signal, wire.ended, () => wire.close());
}

/** Answers the other requests that Codex's servers answer. */
function standAlone(app: FastifyInstance, path: string, healthPaths: readonly string[]): void {
	const config = { policy: "public" } as const;
	for (const url of healthPaths) {
		app.route({ method: ["GET", "HEAD"], url, config, handler: async (_request, reply) => reply.code(200).send() });
		refuseMethods(app, url, ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
	}
	refuseMethods(app, path, ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
	app.setErrorHandler(async (thrown, request, reply) => {
		if (!(thrown instanceof SessionError) || thrown.code !== "unauthenticated") throw thrown;
		if (handshakeFault(request) !== undefined) return reply.code(400).send();
		return reply.code(401).type("text/plain; charset=utf-8").send(unauthenticatedText(request, thrown));
	});
}

function refuseMethods(app: FastifyInstance, url: string, method: string[]): void {
	const config = { policy: "public" } as const;
	app.route({ method, url, config, handler: async (_request, reply) => reply.code(405).send() });
}

function unauthenticatedText(request: FastifyRequest, { message }: SessionError): string {
	if (request.headers.authorization === undefined) return "missing websocket bearer token";
	return bearer(request) === undefined ? "invalid authorization header" : message;
}

/** The answer of a stand-alone server for unknown paths. */
export function answerUnknown(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
	return reply.code(404).send();
}
