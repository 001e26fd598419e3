/** A front that is one WebSocket of JSON-RPC messages: at a path of a larger server, or alone, as the server it stands in for. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Witness } from "../../core/witness.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import { bearer, checkRight, type Front, type Hosting, onAbort, witnessOf } from "../front.ts";
import { type Accept, createAcceptor, handshakeFault } from "../upgrade.ts";
import { type Receiver, WebSocketWire, type WebSocketWireLimits } from "./wire.ts";

/** Who is at the other end of a connection. */
type RpcPeer = {
	readonly principal: Principal;
	/** By whom everything is done that it asks for. */
	readonly witness: Witness;
	/** As `IP:PORT`. */
	readonly address: string;
};

/** What answers the messages of all connections. */
type RpcServer = {
	readonly limits: WebSocketWireLimits & { readonly messageBytes: number };
	readonly connect: (wire: WebSocketWire, peer: RpcPeer) => Receiver;
};

type RpcFrontOptions = {
	readonly name: string;
	/** Where the socket is. */
	readonly path: string;
	/** Which messages are heard: all, or only those in frames of text. */
	readonly frames: "all" | "text";
	/** Where a server that stands alone says that it is there; given to no other. */
	readonly healthPaths?: readonly string[];
	readonly open: (report: (problem: unknown) => void) => RpcServer;
};

/** Where what is started belongs. */
const here = { workspace: defaultWorkspace } as const;

export function createRpcFront({ name, path, frames, healthPaths, open }: RpcFrontOptions): Front {
	return {
		name,
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
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
	readonly hosting: Hosting;
	readonly accept: Accept;
	readonly frames: RpcFrontOptions["frames"];
};

function serve(request: FastifyRequest, reply: FastifyReply, { server, hosting, accept, frames }: Scope): void {
	const { raw, principal } = request;
	if (!principal) throw new Error("invariant: a connection of nobody");
	const socket = accept(request, reply);
	if (!socket) return;
	const wire = new WebSocketWire({
		socket,
		connection: raw.socket,
		limits: server.limits,
		backlog: hosting.backlog,
		share: hosting.share,
	});
	const address = `${raw.socket.remoteAddress}:${raw.socket.remotePort}`;
	wire.deliver(server.connect(wire, { principal, witness: witnessOf(request), address }), frames);
	for (const signal of [hosting.closing, principal.revoked]) onAbort(signal, wire.ended, () => wire.close());
}

/** What Codex's own servers answer besides. */
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
		return reply.code(401).type("text/plain; charset=utf-8").send(whyNobody(request, thrown));
	});
}

function refuseMethods(app: FastifyInstance, url: string, method: string[]): void {
	const config = { policy: "public" } as const;
	app.route({ method, url, config, handler: async (_request, reply) => reply.code(405).send() });
}

function whyNobody(request: FastifyRequest, { message }: SessionError): string {
	if (request.headers.authorization === undefined) return "missing websocket bearer token";
	return bearer(request) === undefined ? "invalid authorization header" : message;
}

/** What a server that stands alone says where there is nothing. */
export function answerUnknown(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
	return reply.code(404).send();
}
