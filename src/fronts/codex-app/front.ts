/** The WebSocket of Codex `app-server`; `docs/compat/codex-app-server.md` says what it promises. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { defaultWorkspace } from "../../core/workspaces.ts";
import { bearer, checkRight, type Front, type Hosting, onAbort } from "../front.ts";
import { WebSocketWire } from "../json-rpc/wire.ts";
import { createAcceptor, handshakeFault } from "../upgrade.ts";
import { AppServer, type AppServerOptions } from "./app-server.ts";

export type CodexAppOptions = Omit<AppServerOptions, "report"> & {
	/** Where it is served. Everywhere, it is all there is, and answers as the real server does. */
	readonly path: "*" | "/codex/app-server";
};

export function createCodexAppFront({ path, ...options }: CodexAppOptions): Front {
	return {
		name: "codex-app",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			const server = new AppServer({ ...options, report: (problem) => hosting.report(problem, "codex-app") });
			const accept = createAcceptor({ maxPayload: server.limits.messageBytes, oneAtATime: true });
			if (path === "*") addDropInRoutes(app);
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

/** Where its commands belong. */
const here = { workspace: defaultWorkspace } as const;

type Scope = { readonly server: AppServer; readonly hosting: Hosting };

function serve(socket: WebSocket, { raw, principal }: FastifyRequest, { server, hosting }: Scope): void {
	if (!principal) throw new Error("invariant: a connection of nobody");
	const { limits } = server;
	const wire = new WebSocketWire({ socket, connection: raw.socket, limits, backlog: hosting.backlog });
	wire.deliver(server.connect(wire, principal), "text");
	for (const signal of [hosting.closing, principal.revoked]) onAbort(signal, wire.ended, () => wire.close());
}

/** What the real server answers besides. No page may talk to it, so that nothing is done for one that sends an origin. */
function addDropInRoutes(app: FastifyInstance): void {
	app.addHook("onRequest", refuseOrigin);
	for (const url of ["/readyz", "/healthz"])
		app.get(url, { config: { policy: "public" } }, async (_request, reply) => reply.code(200).send());
}

/** What is said where there is nothing. */
export function answerUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
	return reply.code(request.headers.origin === undefined ? 400 : 403).send();
}

async function refuseOrigin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
	if (request.headers.origin !== undefined) await reply.code(403).send();
}
