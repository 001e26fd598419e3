/**
 * The terminal of an issue at `/ws/issues/:issue/terminal`: the socket is the terminal.
 *
 *   client                       server
 *     ├── auth {token} ─────────►│  unless a cookie has said who it is
 *     │◄──────── auth_ack ───────┤
 *     │                          │  finds the issue's task, and a terminal that waits or a new one
 *     │◄──────── opened ─────────┤
 *     │◄──────── data ───────────┤  what was there before, then what comes, without a seam
 *     ├── data, resize ─────────►│  to this terminal, whatever session they name
 *     ├── close ────────────────►│  leaves it, or ends it, by its reason
 *     │◄──────── exit, 1000 ─────┤
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Task } from "../../core/workspaces.ts";
import { checkRight, type Hosting, may, witnessOf } from "../front.ts";
import { handshakeFault } from "../upgrade.ts";
import { refuse } from "./answers.ts";
import { attend } from "./attend.ts";
import { closeCodes, TerminalError, toTerminalError } from "./errors.ts";
import { authAck, type ClientFrame, type ErrorPlace, errorFrame } from "./frames.ts";
import { Inbox } from "./inbox.ts";
import { login, recognise } from "./login.ts";
import type { MulticaOptions } from "./options.ts";
import { type AskedTerminal, cookieOf, type IssueRequest, parseRequest } from "./request.ts";
import { taskOfIssue } from "./tasks.ts";
import type { Terminal } from "./terminal.ts";
import { type Hold, ownerOf, type Terminals } from "./terminals.ts";
import { defaultTimes, type Times } from "./times.ts";
import { CLOSED, createWireAcceptor, Wire } from "./wire.ts";

/** Why a client closes that may come back: the panel is folded away, the command-line client is left. */
const leavingReasons = new Set(["panel_unmount", "client_detach"]);

const issuePath = "/ws/issues/:issue/terminal";

export function addIssueSocket(
	app: FastifyInstance,
	options: MulticaOptions,
	terminals: Terminals,
	hosting: Hosting,
): void {
	const times = { ...defaultTimes, ...options.times };
	const accept = createWireAcceptor();
	// Who calls is asked here, since most clients say so only once the socket is open.
	app.get(issuePath, { config: { policy: "public", isSocket: true } }, async (request: IssueRequest, reply) => {
		const asked = parseRequest(request);
		if (typeof asked === "string") return refuse(reply, 400, asked);
		const known = await byCookie(request, hosting);
		if (known && !isMember(request, asked)) return refuse(reply, 403, notMember(asked).message);
		if (handshakeFault(request)) return refuse(reply, 400, "this is a WebSocket");
		const socket = accept(request, reply);
		if (!socket) return reply;
		const wire = new Wire(socket, request, { times, closing: hosting.closing });
		const connection = new IssueConnection({ asked, wire, request, options, terminals, hosting, times });
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

/** A cookie that is not good is none: the first frame may still say who it is. */
async function byCookie(request: IssueRequest, hosting: Hosting): Promise<Principal | undefined> {
	const token = cookieOf(request);
	if (token === undefined) return undefined;
	try {
		return recognise(request, await hosting.identify(request, token));
	} catch (error) {
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}

function isMember(request: FastifyRequest, { workspace }: AskedTerminal): boolean {
	return may(request, "read", { workspace });
}

function notMember({ workspace }: AskedTerminal): TerminalError {
	return new TerminalError("forbidden", `this token is for no member of workspace ${workspace}`);
}

type ConnectionParts = {
	readonly asked: AskedTerminal;
	readonly wire: Wire;
	readonly request: FastifyRequest;
	readonly options: MulticaOptions;
	readonly terminals: Terminals;
	readonly hosting: Hosting;
	readonly times: Times;
};

class IssueConnection {
	readonly #parts: ConnectionParts;
	readonly #inbox: Inbox;
	readonly #report: (problem: unknown) => void;
	/** The terminal that the client knows of. */
	#opened: string | undefined;
	/** Whether somebody who only looks, and types all the same, has heard that it is in vain. */
	#isTold = false;

	constructor(parts: ConnectionParts) {
		this.#parts = parts;
		this.#inbox = new Inbox(parts.wire);
		this.#report = (problem) => parts.hosting.report(problem, "multica terminal");
	}

	/** Resolves when the connection is over and nothing of it reads or writes any more. Never rejects. */
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

	/** What an error is about: the terminal, or the request for one, once its task is known. */
	#placeOf({ code }: TerminalError, request_id: string): ErrorPlace {
		if (this.#opened !== undefined) return { session_id: this.#opened };
		return code === "task_not_found" ? {} : { request_id };
	}

	async #login(): Promise<Principal | undefined> {
		const { wire, request, hosting, asked, times } = this.#parts;
		try {
			const first = this.#inbox.first();
			const principal = await login({ wire, request, hosting, first, loginMs: times.loginMs });
			if (!isMember(request, asked)) throw notMember(asked);
			await wire.send(authAck);
			return principal;
		} catch (error) {
			await wire.refuse(toTerminalError(error, this.#report), {}, true);
			return undefined;
		}
	}

	async #open(principal: Principal, requestId: string): Promise<void> {
		const { asked, request, options, terminals, hosting, wire, times } = this.#parts;
		const task = taskOfIssue(options.workspaces, asked.workspace, asked.issue);
		const hold = asked.isViewer ? undefined : await this.#hold(principal, task);
		const ending = await attend({
			session: hold?.session ?? terminals.find({ task, id: asked.attach }),
			hold,
			principal,
			witness: witnessOf(request),
			task,
			requestId,
			since: asked.since,
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
		if (ending === "lost") wire.close(closeCodes.failed, "whoever held the shell is gone");
	}

	/** Control over a terminal: the one that is named, or one that waits for this user, or a new one. */
	async #hold(principal: Principal, task: Task): Promise<Hold> {
		const { asked, request, terminals, wire } = this.#parts;
		const evict = () => wire.close(closeCodes.takenOver, "another client has taken over");
		if (asked.attach !== undefined) {
			const session = terminals.find({ task, id: asked.attach });
			const place = { workspace: session.spec.workspace, session: session.id };
			checkRight(request, "operate", place);
			return terminals.take(session, evict);
		}
		return terminals.open({
			principal,
			witness: witnessOf(request),
			task,
			owner: ownerOf(principal),
			issue: task.issueId ?? "",
			priorSession: task.priorSessionId ?? "",
			size: asked.size,
			signal: wire.ended,
			evict,
		});
	}

	#obey(frame: ClientFrame, terminal: Terminal, { name }: Principal): void {
		const { wire, asked, request, terminals } = this.#parts;
		switch (frame.type) {
			case "auth":
				this.#acknowledge(frame.token);
				break;
			// A client can never mean another session than its own, whatever it names.
			case "terminal.data":
				if (asked.isViewer) this.#tellViewer(terminal);
				else terminal.write(frame.bytes);
				break;
			case "terminal.resize":
				terminal.resize(frame.size);
				break;
			case "terminal.close": {
				if (asked.isViewer || leavingReasons.has(frame.reason)) wire.close(closeCodes.done, "");
				else terminals.end(terminal.session, frame.reason || CLOSED, { name, witness: witnessOf(request) });
				break;
			}
			case "terminal.open":
			case "wrong open":
		}
	}

	/** Once, and not for a size, which clients send by themselves. */
	#tellViewer({ session }: Terminal): void {
		if (this.#isTold) return;
		this.#isTold = true;
		const sentence = "this client only looks (mode=view): what you type is not sent";
		this.#parts.wire.reply(errorFrame("forbidden", sentence, { session_id: session.id }));
	}

	/** Some clients sign in although a cookie has done so; a token that is not good changes nothing. */
	#acknowledge(token: string): void {
		const { wire, hosting, request } = this.#parts;
		hosting.identify(request, token).then(
			() => wire.reply(authAck),
			() => {},
		);
	}
}
