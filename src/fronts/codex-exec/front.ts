/** The WebSocket of Codex `exec-server`; `docs/compat/codex-exec-server.md` says what it promises. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { defaultWorkspace } from "../../core/workspaces.ts";
import { bearer, checkRight, type Front, type Hosting, onAbort } from "../front.ts";
import { WebSocketWire } from "../json-rpc/wire.ts";
import { createAcceptor, handshakeFault } from "../upgrade.ts";
import { ExecServer, type ExecServerOptions } from "./exec-server.ts";

export type CodexExecOptions = Omit<ExecServerOptions, "report"> & {
	/** Where it is served. At the root it is all there is, and answers as the real server does. */
	readonly path: "/" | "/codex/exec-server";
};

export function createCodexExecFront({ path, ...options }: CodexExecOptions): Front {
	return {
		name: "codex-exec",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			const server = new ExecServer({ ...options, report: (problem) => hosting.report(problem, "codex-exec") });
			const accept = createAcceptor({ maxPayload: server.limits.messageBytes, oneAtATime: true });
			if (path === "/") addDropInRoutes(app);
			app.get(
				path,
				{
					config: { policy: "manage", isSocket: true },
					preHandler: async (request, reply) => {
						checkRight(request, "manage", here);
						if (handshakeFault(request) !== undefined) await reply.code(400).send();
					},
				},
				async (request, reply) => {
					const socket = accept(request, reply);
					if (socket) serve(socket, request, { server, hosting });
				},
			);
		},
	};
}

/** Where its processes belong. */
const here = { workspace: defaultWorkspace } as const;

type Scope = { readonly server: ExecServer; readonly hosting: Hosting };

function serve(socket: WebSocket, { raw, principal }: FastifyRequest, { server, hosting }: Scope): void {
	if (!principal) throw new Error("invariant: a connection of nobody");
	const { limits } = server;
	const wire = new WebSocketWire({ socket, connection: raw.socket, limits, backlog: hosting.backlog });
	const peer = `${raw.socket.remoteAddress}:${raw.socket.remotePort}`;
	const source = `websocket JSON-RPC message from exec-server websocket ${peer}`;
	wire.deliver(server.connect(wire, { principal, source }));
	for (const signal of [hosting.closing, principal.revoked]) onAbort(signal, wire.ended, () => wire.close());
}

/** What the real server answers besides. No page may talk to it, so that nothing is done for one that sends an origin. */
function addDropInRoutes(app: FastifyInstance): void {
	app.addHook("onRequest", refuseOrigin);
	app.route({
		method: ["GET", "HEAD"],
		url: "/readyz",
		config: { policy: "public" },
		handler: async (_request, reply) => reply.code(200).send(),
	});
	for (const url of ["/", "/readyz"]) {
		app.route({
			method: ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
			url,
			config: { policy: "public" },
			handler: async (_request, reply) => reply.code(405).send(),
		});
	}
}

/** What is said where there is nothing. */
export function answerUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
	return reply.code(request.headers.origin === undefined ? 404 : 403).send();
}

async function refuseOrigin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
	if (request.headers.origin !== undefined) await reply.code(403).send();
}
