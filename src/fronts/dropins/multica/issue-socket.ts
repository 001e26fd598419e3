/**
 * The terminal of an issue at `/ws/issues/:issue/terminal`. The socket is the terminal.
 *
 *   client                       server
 *     ├── auth {token} ─────────►│  unless a cookie identified the client
 *     │◄──────── auth_ack ───────┤
 *     │                          │  finds the issue's task and a free terminal, or starts one
 *     │◄──────── opened ─────────┤
 *     │◄──────── data ───────────┤  earlier output, then live output, without a break
 *     ├── data, resize ─────────►│  to this terminal; the session they name is ignored
 *     ├── close ────────────────►│  leaves it, or ends it, by its reason
 *     │◄──────── exit, 1000 ─────┤
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { SessionError } from "../../../core/errors.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { Task } from "../../../core/session/workspaces.ts";
import { auditedCallerOf, checkRight, hasRight } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import { handshakeFault } from "../../../http/upgrade.ts";
import { refuse } from "./answers.ts";
import { serveClient } from "./connection.ts";
import { Inbox } from "./early-frames.ts";
import { closeCodes, TerminalError, toTerminalError } from "./errors.ts";
import { cookieOf, type IssueRequest, parseRequest, type TerminalParameters } from "./issue-request.ts";
import { login, recognise } from "./login.ts";
import { authAck, type ClientFrame, type ErrorPlace, errorFrame } from "./messages.ts";
import type { MulticaContext } from "./options.ts";
import { taskOfIssue } from "./tasks.ts";
import type { Terminal } from "./terminal-stream.ts";
import { ownerOf, type TerminalControl } from "./terminals.ts";
import { CLOSED, createWireAcceptor, Wire } from "./wire.ts";

/** Close reasons of clients that may return: the panel was collapsed, or the command-line client detached. */
const leavingReasons = new Set(["panel_unmount", "client_detach"]);

const issuePath = "/ws/issues/:issue/terminal";

export function addIssueSocket(app: FastifyInstance, context: MulticaContext): void {
	const { terminals, hosting, times } = context;
	const accept = createWireAcceptor();
	// Public, because most clients authenticate after the socket is open.
	app.get(issuePath, { config: { policy: "public", isSocket: true } }, async (request: IssueRequest, reply) => {
		const parameters = parseRequest(request);
		if (typeof parameters === "string") return refuse(reply, 400, parameters);
		const known = await byCookie(request, hosting);
		if (known && !isMember(request, parameters)) return refuse(reply, 403, notMember(parameters).message);
		if (handshakeFault(request)) return refuse(reply, 400, "this is a WebSocket");
		const socket = accept(request, reply);
		if (!socket) return reply;
		const wire = new Wire(socket, request, { times, closing: hosting.closing });
		const connection = new IssueConnection({ ...context, parameters, wire, request });
		await terminals.track(connection.run(known));
		return reply;
	});
	app.route({
		method: ["POST", "PUT", "PATCH", "DELETE"],
		url: issuePath,
		config: { policy: "public" },
		handler: async (_request, reply) => refuse(reply, 405, "this is a WebSocket"),
	});
}

/** An invalid cookie is ignored: the first frame may authenticate. */
async function byCookie(request: IssueRequest, hosting: ServerContext): Promise<Principal | undefined> {
	const token = cookieOf(request);
	if (token === undefined) return undefined;
	try {
		return recognise(request, await hosting.identify(request, token));
	} catch (error) {
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}

function isMember(request: FastifyRequest, { workspace }: TerminalParameters): boolean {
	return hasRight(request, "read", { workspace });
}

function notMember({ workspace }: TerminalParameters): TerminalError {
	return new TerminalError("forbidden", `this token has no access to workspace ${workspace}`);
}

type ConnectionParts = MulticaContext & {
	readonly parameters: TerminalParameters;
	readonly wire: Wire;
	readonly request: FastifyRequest;
};

class IssueConnection {
	readonly #parts: ConnectionParts;
	readonly #inbox: Inbox;
	readonly #report: (problem: unknown) => void;
	/** The terminal reported to the client. */
	#opened: string | undefined;
	/** Whether a viewer that typed already got the error. */
	#isRefusalSent = false;

	constructor(parts: ConnectionParts) {
		this.#parts = parts;
		this.#inbox = new Inbox(parts.wire);
		this.#report = (problem) => parts.hosting.report(problem, "multica terminal");
	}

	/** Resolves when the connection is over and nothing reads or writes for it. Never rejects. */
	async run(known: Principal | undefined): Promise<void> {
		const { wire } = this.#parts;
		const principal = known ?? (await this.#login());
		if (!principal || wire.ended.aborted) return;
		wire.belongsTo(principal);
		const request_id = this.#parts.options.newUuid();
		try {
			await this.#open(principal, request_id);
		} catch (error) {
			const shown = toTerminalError(error, this.#report);
			await wire.refuse(shown, this.#placeOf(shown, request_id));
		}
	}

	/** The terminal that an error is about, or the request for one once its task is known. */
	#placeOf({ code }: TerminalError, request_id: string): ErrorPlace {
		if (this.#opened !== undefined) return { session_id: this.#opened };
		return code === "task_not_found" ? {} : { request_id };
	}

	async #login(): Promise<Principal | undefined> {
		const { wire, request, hosting, parameters, times } = this.#parts;
		try {
			const first = this.#inbox.first();
			const principal = await login({ wire, request, hosting, first, loginMs: times.loginMs });
			if (!isMember(request, parameters)) throw notMember(parameters);
			await wire.send(authAck);
			return principal;
		} catch (error) {
			await wire.refuse(toTerminalError(error, this.#report), {}, true);
			return undefined;
		}
	}

	async #open(principal: Principal, requestId: string): Promise<void> {
		const { parameters, request, options, terminals, hosting, wire, times } = this.#parts;
		const task = taskOfIssue(options.workspaces, parameters.workspace, parameters.issue);
		const hold = parameters.isViewer ? undefined : await this.#hold(principal, task);
		const ending = await serveClient({
			session: hold?.session ?? terminals.find({ task, id: parameters.attach }),
			hold,
			principal,
			witness: auditedCallerOf(request),
			task,
			requestId,
			since: parameters.since,
			send: (frame) => wire.send(frame),
			source: wire,
			terminals,
			hosting,
			resizeMs: times.resizeMs,
			onOpened: (terminal) => {
				this.#opened = terminal.session.id;
				this.#inbox.deliver((frame) => this.#obey(frame, terminal, principal));
			},
		});
		if (ending === "exited") wire.close(closeCodes.done, "the shell has ended");
		if (ending === "lost") wire.close(closeCodes.failed, "the process that kept the shell is gone");
	}

	/** Takes control of the named terminal, a free one of this user, or a new one. */
	async #hold(principal: Principal, task: Task): Promise<TerminalControl> {
		const { parameters, request, terminals, wire } = this.#parts;
		const evict = () => wire.close(closeCodes.takenOver, "another client has taken over");
		if (parameters.attach !== undefined) {
			const session = terminals.find({ task, id: parameters.attach });
			const place = { workspace: session.spec.workspace, session: session.id };
			checkRight(request, "operate", place);
			return terminals.take(session, evict);
		}
		return terminals.open({
			principal,
			witness: auditedCallerOf(request),
			task,
			owner: ownerOf(principal),
			issue: task.issueId ?? "",
			priorSession: task.priorSessionId ?? "",
			size: parameters.size,
			signal: wire.ended,
			evict,
		});
	}

	#obey(frame: ClientFrame, terminal: Terminal, { name }: Principal): void {
		const { wire, parameters, request, terminals } = this.#parts;
		switch (frame.type) {
			case "auth":
				this.#acknowledge(frame.token);
				break;
			// The session named in a frame is ignored; it can only be this terminal.
			case "terminal.data":
				if (parameters.isViewer) this.#refuseViewer(terminal);
				else terminal.write(frame.bytes);
				break;
			case "terminal.resize":
				terminal.resize(frame.size);
				break;
			case "terminal.close": {
				if (parameters.isViewer || leavingReasons.has(frame.reason)) wire.close(closeCodes.done, "");
				else terminals.end(terminal.session, frame.reason || CLOSED, { name, witness: auditedCallerOf(request) });
				break;
			}
			case "terminal.open":
			case "wrong open":
		}
	}

	/** Sent once, and not for resizes, which clients send automatically. */
	#refuseViewer({ session }: Terminal): void {
		if (this.#isRefusalSent) return;
		this.#isRefusalSent = true;
		const sentence = "view only (mode=view): input is ignored";
		this.#parts.wire.reply(errorFrame("forbidden", sentence, { session_id: session.id }));
	}

	/** Some clients authenticate despite a valid cookie. An invalid token changes nothing then. */
	#acknowledge(token: string): void {
		const { wire, hosting, request } = this.#parts;
		hosting.identify(request, token).then(
			() => wire.reply(authAck),
			() => {},
		);
	}
}
