/**
 * The HTTP API of OpenSandbox `execd`: programs, files, metrics and a proxy to other ports; see
 * `docs/compat/opensandbox.md`.
 */

import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify";
import type { Authorize } from "../../../core/policy/access.ts";
import type { Front, ServerContext } from "../../../http/front.ts";
import { addCommands } from "./command/routes.ts";
import { answerErrors, notServed, sendNothing, unauthorized } from "./errors.ts";
import { addFiles } from "./files/routes.ts";
import { addInterrupts } from "./interrupts.ts";
import { addMetrics } from "./metrics/routes.ts";
import type { OpenSandboxOptions } from "./options.ts";
import { addProxy } from "./proxy/routes.ts";
import { addPty } from "./pty/routes.ts";
import { startBody } from "./request-body.ts";
import { addSessions } from "./session/routes.ts";
import { addSessionSocket } from "./session/socket.ts";

export function createOpenSandboxFront(options: OpenSandboxOptions): Front {
	return {
		name: "opensandbox",
		credential,
		register(app: FastifyInstance, hosting: ServerContext): void {
			answerErrors(app, hosting);
			// Bodies are JSON whatever their content type; each route parses its own.
			app.removeAllContentTypeParsers();
			app.addContentTypeParser("*", { parseAs: "buffer" }, (request, body, done) =>
				hosting.share.take(request.raw.socket, body.length, () => done(null, body)),
			);
			const routes: FastifyPluginCallback = (scope, _, done) => {
				scope.addHook("onRequest", redirectSlash);
				addRoutes(scope, options, hosting);
				done();
			};
			app.register(routes, { prefix: options.path });
			// A scope of its own, because proxied paths and bodies are passed through unchanged.
			const proxy: FastifyPluginCallback = (scope, _, done) => {
				addProxy(scope, options, hosting);
				done();
			};
			app.register(proxy, { prefix: options.path });
		},
	};
}

function addRoutes(app: FastifyInstance, options: OpenSandboxOptions, hosting: ServerContext): void {
	app.get("/ping", { config: { policy: "read" } }, async (_request, reply) => sendNothing(reply));
	addPty(app, options, hosting);
	const commands = addCommands(app, options, hosting);
	const sessions = addSessions(app, options, hosting);
	addInterrupts(app, options, hosting, { commands, sessions });
	addFiles(app, options);
	addMetrics(app, hosting);
	addSessionSocket(app, options, hosting, sessions);
	addNotServed(app);
}

/** Routes of the original that this server does not have answer with a clear message. */
function addNotServed(app: FastifyInstance): void {
	app.get("/v1/isolated/capabilities", { config: { policy: "read" } }, async () => ({
		available: false,
		message: "isolated sessions are not supported",
		setpriv_available: false,
		userns_available: false,
		commit_supported: false,
		diff_supported: false,
	}));
	for (const [url, what] of [
		["/v1/isolated/*", "an isolated session"],
		["/code/context", "a code context"],
		["/code/contexts", "a code context"],
		["/code/contexts/:id", "a code context"],
	] as const) {
		const handler = async () => {
			throw notServed(what);
		};
		app.route({ method: ["GET", "POST", "DELETE"], url, ...startBody, config: { policy: "read" }, handler });
	}
}

/** Answers unknown paths. The token is checked first, whether or not the path exists. */
export function createAnswerUnknown(
	authorize: Authorize,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
	return async (request, reply) => {
		const { cookie: cookies, origin } = request.headers;
		const shown = { credential: credential(request), ticket: undefined, cookies, pageKey: undefined, origin };
		try {
			await authorize({ ...shown, isSafe: true, connection: request.raw.socket });
		} catch {
			return reply.code(401).send(unauthorized);
		}
		return reply.code(404).type("text/plain").send("404 page not found");
	};
}

/** The token header that all OpenSandbox clients send. */
function credential(request: FastifyRequest): string | undefined {
	const header = request.headers["x-execd-access-token"];
	return typeof header === "string" ? header : undefined;
}

/** Redirects a trailing slash as the original does; the router would not. */
async function redirectSlash(request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const [path = "", query] = request.url.split("?", 2);
	if (!path.endsWith("/")) return;
	// A single leading slash, or the rest would be taken for a host name.
	const target = `/${path.replace(/^\/+|\/+$/g, "")}${query === undefined ? "" : `?${query}`}`;
	await reply.redirect(target, request.method === "GET" ? 301 : 307);
}
