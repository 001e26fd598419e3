/** Handles one request of either protocol era with the SDK, our tools and our resources. */

import {
	createMcpHandler,
	ProtocolError,
	ProtocolErrorCode,
	Server,
	type ServerContext,
} from "@modelcontextprotocol/server";
import type { AgentMessage } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import { redact } from "../../services/reading/redaction.ts";
import { withApprovalProgress } from "./approvals.ts";
import { Call, type CallParts } from "./call.ts";
import { dialogText } from "./report.ts";
import { ResourceChanges, type WantedResources, wantedBy } from "./resource-changes.ts";
import { listResources, readResource, resourceTemplates } from "./resources.ts";
import { elicitation, repeated, withdraw } from "./secrets.ts";
import { resumeAfterSecret, tools } from "./tools.ts";

type Exchange = Omit<CallParts, "meta" | "onProgress">;

/** Instructions for the model. */
const INSTRUCTIONS =
	"Terminals that stay. Every answer begins with a line in brackets: what the program does, and which bytes of its output follow. " +
	"run is for commands, start for programs that stay, send and read to talk to them. Waits end by themselves when something happens: never poll, never sleep.";

/** The message is parsed and its caller authenticated. */
export async function exchange(request: Request, message: unknown, parts: Exchange): Promise<Response> {
	const wanted = wantedBy(message);
	const close = () => void handler.close();
	const listen = (wanted: WantedResources) => {
		const call = new Call({ ...parts, meta: {}, onProgress: () => {} });
		// A client that listens sees the end and subscribes again.
		return ResourceChanges.open(wanted, call, (error) => {
			explained(error, "mcp subscription", parts);
			close();
		});
	};
	const handler = createMcpHandler(({ era }) => createServer(parts, era), wanted ? { bus: await listen(wanted) } : {});
	parts.signal.addEventListener("abort", close, { once: true });
	return handler.fetch(request, message === undefined ? {} : { parsedBody: message });
}

/** Callers get the details of their own errors only; internal errors are logged. */
function explained(thrown: unknown, where: string, { hosting }: Exchange): SessionError {
	const error = SessionError.from(thrown);
	if (error.isForLog) hosting.report(error.cause ?? thrown, where);
	return error;
}

function createServer(parts: Exchange, era: "legacy" | "modern"): Server {
	const { options } = parts;
	const server = new Server(
		{ name: "hawser", version: options.version },
		{
			// In the older era, changes need a stream tied to a protocol session, which we do not have.
			capabilities: { tools: {}, resources: era === "modern" ? { subscribe: true, listChanged: true } : {} },
			instructions: INSTRUCTIONS,
		},
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
				// Fails if the client has left.
				mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
			},
		});
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
			const call = callOf(context);
			const given = params.arguments ?? {};
			const before = repeated(context);
			if (before?.isDeclined) withdraw(before, call);
			const text = redact(
				await withApprovalProgress(call, before ? resumeAfterSecret(before, given, call) : wanted.call(given, call)),
			);
			const isElicited = !before && call.asked && era === "modern" && takesAddresses(server);
			const elicited = isElicited && call.asked ? elicitation(call.asked, call) : undefined;
			return elicited ?? { content: [{ type: "text", text }] };
		} catch (thrown) {
			const { code, message, hint, extra } = explained(thrown, `mcp ${wanted.name}`, parts);
			const agent = extra?.agent as AgentMessage | undefined;
			const dialog = agent ? redact(`\n${dialogText(agent)}`) : "";
			const text = `[${code}] ${message}${hint === undefined ? "" : `; ${hint}`}${dialog}`;
			return { content: [{ type: "text", text }], isError: true };
		}
	});
	server.setRequestHandler("resources/list", (_request, context) => ({ resources: listResources(callOf(context)) }));
	server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [...resourceTemplates] }));
	server.setRequestHandler("resources/read", async ({ params }, context) => {
		const { uri } = params;
		try {
			return { contents: [{ uri, mimeType: "text/plain", text: redact(await readResource(uri, callOf(context))) }] };
		} catch (thrown) {
			const { code, message } = explained(thrown, "mcp resource", parts);
			const isUnknown = code === "not_found" || code === "session_not_found";
			throw new ProtocolError(isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message);
		}
	});
	return server;
}

/** Whether the client can show a URL to its user. */
function takesAddresses(server: Server): boolean {
	return server.getClientCapabilities()?.elicitation?.url !== undefined;
}

/** A schema as plain JSON, without TypeBox's symbols. */
function plain(schema: object): { type: "object" } {
	return JSON.parse(JSON.stringify(schema)) as { type: "object" };
}
