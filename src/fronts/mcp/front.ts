/** The Model Context Protocol over HTTP: terminals as tools for agents; `docs/agents.md` says what it promises. */

import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import { idPattern } from "../../core/workspaces.ts";
import { mcpPath } from "../../protocol/mcp.ts";
import { answerErrors } from "../errors.ts";
import { bearer, type Front, type Hosting } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { Places } from "../places.ts";
import type { McpOptions } from "./options.ts";

/** Of one message: more than any program can be started with. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** How many earlier screens one caller may wait for at a time; how many all may is decided where they are made. */
const PAST = { each: 1, all: Number.POSITIVE_INFINITY };

export function createMcpFront(options: McpOptions): Front {
	return {
		name: "mcp",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			answerErrors(app, hosting);
			const past = new Places(PAST, lookingBack);
			app.route({
				// Clients of the older era try the others, and must hear that there is nothing.
				method: ["POST", "GET", "DELETE"],
				url: mcpPath,
				bodyLimit: MAX_MESSAGE_BYTES,
				// What a tool does asks for more where it does it.
				config: { policy: "read" },
				handler: (request, reply) => serve(request, reply, { options, hosting, past }),
			});
		},
	};
}

type Parts = { readonly options: McpOptions; readonly hosting: Hosting; readonly past: Places };

function lookingBack(): SessionError {
	return new SessionError("limit_exceeded", "this token waits for an earlier screen already", {
		hint: "ask for one after the other",
	});
}

async function serve(
	request: FastifyRequest,
	reply: FastifyReply,
	{ options, hosting, past }: Parts,
): Promise<FastifyReply> {
	const { principal } = request;
	if (!principal) throw new SessionError("unauthenticated", "a token is required");
	const workspace = workspaceOf(request);
	const patience = patienceOf(reply, hosting);
	// The SDK takes its time to load, and most servers never need it.
	const { exchange } = await import("./server.ts");
	const parts = { reply, principal, hosting, options, past, workspace, signal: patience.signal };
	const { status, headers, body } = await exchange(asWebRequest(request, patience.signal), request.body, parts);
	reply.code(status).header("cache-control", "no-store");
	for (const [name, value] of headers) reply.header(name, value);
	return body ? reply.send(Readable.fromWeb(body as ReadableStream<Uint8Array>)) : reply.send();
}

function workspaceOf({ query }: FastifyRequest): string | undefined {
	const { workspace } = query as { workspace?: unknown };
	if (workspace === undefined) return undefined;
	if (typeof workspace === "string" && new RegExp(idPattern).test(workspace)) return workspace;
	throw new SessionError("invalid_argument", "workspace: must be the id of one");
}

/** Without its body, which was read, and without what says who sends it. */
function asWebRequest({ method, headers, raw }: FastifyRequest, signal: AbortSignal): Request {
	const given = Object.entries(headers).flatMap(([name, value]) =>
		value === undefined || name === "authorization" || name === "cookie"
			? []
			: [[name, String(value)] as [string, string]],
	);
	return new Request(new URL(raw.url ?? mcpPath, "http://localhost"), { method, headers: given, signal });
}
