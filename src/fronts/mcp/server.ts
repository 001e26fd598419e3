/** One request of the protocol, in either of its eras, answered by the SDK with our tools and resources. */

import {
	createMcpHandler,
	ProtocolError,
	ProtocolErrorCode,
	Server,
	type ServerContext,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { Call, type CallParts } from "./call.ts";
import { listResources, readResource, resourceTemplates } from "./resources.ts";
import { tools } from "./tools.ts";

export type Exchange = Omit<CallParts, "meta" | "onProgress">;

/** Said once to a model, before it uses anything. */
const INSTRUCTIONS =
	"Terminals that stay. Every answer begins with a line in brackets: what the program does, and which bytes of its output follow. " +
	"run is for commands, start for programs that stay, send and read to talk to them. Waits end by themselves when something happens: never poll, never sleep.";

/** The message is parsed by then, and its sender is known. */
export async function exchange(request: Request, message: unknown, parts: Exchange): Promise<Response> {
	const handler = createMcpHandler(() => createServer(parts), {
		// No change is told: whoever wants to know waits with read, or reads again.
		maxSubscriptions: 0,
	});
	parts.signal.addEventListener("abort", () => void handler.close(), { once: true });
	return handler.fetch(request, message === undefined ? {} : { parsedBody: message });
}

function createServer(parts: Exchange): Server {
	const { options, hosting } = parts;
	const server = new Server(
		{ name: "hawser", version: options.version },
		{ capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
	);
	const callOf = ({ mcpReq }: ServerContext) => {
		const { progressToken, ...meta } = mcpReq._meta ?? {};
		return new Call({
			...parts,
			meta,
			signal: AbortSignal.any([parts.signal, mcpReq.signal]),
			onProgress: (progress) => {
				if (progressToken === undefined) return;
				const params = { progressToken, ...progress };
				// Whoever has gone does not hear of it.
				mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
			},
		});
	};
	/** What callers can't have is theirs to know; our own bugs are not. */
	const explained = (thrown: unknown, where: string): SessionError => {
		const error = SessionError.from(thrown);
		if (error.code === "internal") hosting.report(error.cause ?? thrown, where);
		return error;
	};

	server.setRequestHandler("tools/list", () => ({
		tools: tools.map(({ name, description, inputSchema, annotations }) => ({
			name,
			description,
			inputSchema: plain(inputSchema),
			annotations,
		})),
	}));
	server.setRequestHandler("tools/call", async ({ params }, context) => {
		const wanted = tools.find(({ name }) => name === params.name);
		if (!wanted)
			throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${JSON.stringify(params.name)}`);
		try {
			return { content: [{ type: "text", text: await wanted.call(params.arguments ?? {}, callOf(context)) }] };
		} catch (thrown) {
			const { code, message, hint } = explained(thrown, `mcp ${wanted.name}`);
			const text = `[${code}] ${message}${hint === undefined ? "" : `; ${hint}`}`;
			return { content: [{ type: "text", text }], isError: true };
		}
	});
	server.setRequestHandler("resources/list", (_request, context) => ({ resources: listResources(callOf(context)) }));
	server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [...resourceTemplates] }));
	server.setRequestHandler("resources/read", async ({ params }, context) => {
		const { uri } = params;
		try {
			return { contents: [{ uri, mimeType: "text/plain", text: await readResource(uri, callOf(context)) }] };
		} catch (thrown) {
			const { code, message } = explained(thrown, "mcp resource");
			const isUnknown = code === "not_found" || code === "session_not_found";
			throw new ProtocolError(isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message);
		}
	});
	return server;
}

/** A schema as JSON, without what TypeBox keeps on it besides. */
function plain(schema: object): { type: "object" } {
	return JSON.parse(JSON.stringify(schema)) as { type: "object" };
}
