/** The Model Context Protocol over HTTP: terminals as tools for agents; see `docs/agents.md`. */

import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { mcpPath } from "../../api/mcp.ts";
import { SessionError } from "../../core/errors.ts";
import { requestSignal } from "../../http/answer.ts";
import { bearer } from "../../http/caller.ts";
import { answerErrors } from "../../http/errors.ts";
import type { Front, ServerContext } from "../../http/front.ts";
import { idPattern } from "../../words/ids.ts";
import type { CallParts } from "./call.ts";
import type { McpOptions } from "./options.ts";
import type { exchange as Exchange } from "./server.ts";

/**
 * Larger than any program's start request.
 * @limit a message of an agent | 413
 */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Upper bound of files opened at once while the SDK is loaded. */
const LOADED_FILES = 64;

export function createMcpFront(options: McpOptions): Front {
	const shellStarts: Parts["shellStarts"] = new Map();
	return {
		name: "mcp",
		credential: bearer,
		register(app: FastifyInstance, hosting: ServerContext): void {
			answerErrors(app, hosting);
			app.route({
				// Older clients try GET and DELETE and expect an answer.
				method: ["POST", "GET", "DELETE"],
				url: mcpPath,
				bodyLimit: MAX_MESSAGE_BYTES,
				// Each tool checks further rights itself.
				config: { policy: "read" },
				handler: (request, reply) => serve(request, reply, { options, hosting, shellStarts }),
			});
		},
	};
}

type Parts = Pick<CallParts, "options" | "hosting" | "shellStarts">;

async function serve(request: FastifyRequest, reply: FastifyReply, shared: Parts): Promise<FastifyReply> {
	const { principal } = request;
	if (!principal) throw new SessionError("unauthenticated", "a token is required");
	const workspace = workspaceOf(request);
	const signal = requestSignal(reply, shared.hosting);
	const exchange = await loadExchange();
	const parts = { ...shared, reply, principal, workspace, signal };
	const { status, headers, body } = await exchange(asWebRequest(request, signal), request.body, parts);
	reply.code(status).header("cache-control", "no-store");
	for (const [name, value] of headers) reply.header(name, value);
	return body ? reply.send(Readable.fromWeb(body as ReadableStream<Uint8Array>)) : reply.send();
}

let loaded: typeof Exchange | undefined;

/** Loaded on first use: the SDK takes long to load, and most servers never need it. */
async function loadExchange(): Promise<typeof Exchange> {
	// Node never retries a module that failed to load, so descriptors for its files are checked first.
	if (!loaded) await checkDescriptors(LOADED_FILES);
	loaded ??= (await import("./server.ts")).exchange;
	return loaded;
}

/** Rejects if the process can't open this many more files. */
async function checkDescriptors(count: number): Promise<void> {
	const handles: FileHandle[] = [];
	try {
		while (handles.length < count) handles.push(await open("/dev/null"));
	} finally {
		await Promise.all(handles.map((handle) => handle.close()));
	}
}

function workspaceOf({ query }: FastifyRequest): string | undefined {
	const { workspace } = query as { workspace?: unknown };
	if (workspace === undefined) return undefined;
	if (typeof workspace === "string" && new RegExp(idPattern).test(workspace)) return workspace;
	throw new SessionError("invalid_argument", "workspace: not a valid workspace id");
}

/** The request without its body, which is already parsed, and without credentials. */
function asWebRequest({ method, headers, raw }: FastifyRequest, signal: AbortSignal): Request {
	const given = Object.entries(headers).flatMap(([name, value]) =>
		value === undefined || name === "authorization" || name === "cookie"
			? []
			: [[name, String(value)] as [string, string]],
	);
	return new Request(new URL(raw.url ?? mcpPath, "http://localhost"), { method, headers: given, signal });
}
