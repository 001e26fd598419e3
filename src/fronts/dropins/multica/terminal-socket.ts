/**
 * `/multica/terminal`: many terminals on one socket. Multica's server and daemon use it between each other.
 *
 *   client                            server
 *     ├── open {request, task} ──────►│
 *     │◄── opened {request, session} ─┤  or error {request}
 *     │◄── data {session} ────────────┤
 *     ├── data, resize {session} ────►│  or error session_not_found
 *     ├── close {session} ───────────►│
 *     │◄── exit {session} ────────────┤
 */

import { setMaxListeners } from "node:events";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { invariant } from "../../../core/errors.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { Session } from "../../../core/session/session.ts";
import { auditedCallerOf } from "../../../http/caller.ts";
import { handshakeFault } from "../../../http/upgrade.ts";
import type { InputSource } from "../../../services/input/client-input.ts";
import { refuse } from "./answers.ts";
import { serveClient } from "./connection.ts";
import { TerminalError, toTerminalError } from "./errors.ts";
import { authAck, type ClientFrame, closeFrame, decodeFrame, errorFrame, type OpenPayload } from "./messages.ts";
import type { MulticaContext } from "./options.ts";
import { namedTask } from "./tasks.ts";
import type { Terminal } from "./terminal-stream.ts";
import { ownerOf } from "./terminals.ts";
import { CLOSED, createWireAcceptor, Wire } from "./wire.ts";

/**
 * Each terminal has a frame in flight and a reader of its session.
 * @limit terminals on one socket | `limit_reached`
 */
const MAX_TERMINALS = 100;

export function addTerminalSocket(app: FastifyInstance, context: MulticaContext): void {
	const { hosting, times } = context;
	const accept = createWireAcceptor();
	app.get("/multica/terminal", { config: { policy: "read", isSocket: true } }, async (request, reply) => {
		if (handshakeFault(request)) return refuse(reply, 400, "this is a WebSocket");
		const socket = accept(request, reply);
		if (!socket) return reply;
		const { principal } = request;
		invariant(principal, "a socket without a principal");
		const wire = new Wire(socket, request, { times, closing: hosting.closing });
		wire.belongsTo(principal);
		const connection = new TerminalConnection({ ...context, wire, principal, request });
		wire.onMessage((data) => connection.receive(decodeFrame(data)));
		return reply;
	});
}

type ConnectionParts = MulticaContext & {
	readonly wire: Wire;
	readonly principal: Principal;
	readonly request: FastifyRequest;
};

class TerminalConnection {
	readonly #parts: ConnectionParts;
	/** Terminals of this socket by session, and those with a full input queue. */
	readonly #opened = new Map<string, Terminal>();
	readonly #full = new Set<string>();
	/** Includes terminals that are being opened. */
	#count = 0;

	constructor(parts: ConnectionParts) {
		this.#parts = parts;
		// Each terminal adds a listener: many are not a leak.
		setMaxListeners(0, parts.wire.ended);
	}

	receive(frame: ClientFrame | undefined): void {
		const { wire, terminals, principal, request } = this.#parts;
		switch (frame?.type) {
			case "terminal.open":
				void terminals.track(this.#open(frame.payload));
				break;
			case "wrong open":
				wire.reply(errorFrame("spawn_failed", frame.fault, { request_id: frame.request_id }));
				break;
			case "terminal.data":
				this.#find(frame.session, (terminal) => {
					if (this.#full.has(frame.session))
						this.#refuse(frame.session, "limit_reached", "the program has not read its earlier input");
					else terminal.write(frame.bytes);
				});
				break;
			case "terminal.resize":
				this.#find(frame.session, (terminal) => terminal.resize(frame.size));
				break;
			case "terminal.close": {
				const session = this.#opened.get(frame.session)?.session;
				if (session) {
					const by = { name: principal.name, witness: auditedCallerOf(request) };
					terminals.end(session, frame.reason || CLOSED, by);
				}
				break;
			}
			case "auth":
				// The client is already authenticated.
				wire.reply(authAck);
				break;
			case undefined:
		}
	}

	/** Never rejects. */
	async #open(payload: OpenPayload): Promise<void> {
		const { wire, hosting } = this.#parts;
		this.#count++;
		try {
			if (this.#count > MAX_TERMINALS)
				throw new TerminalError("limit_reached", `too many terminals on this socket (limit ${MAX_TERMINALS})`);
			await this.#attend(payload);
		} catch (error) {
			const { code, message } = toTerminalError(error, (problem) => hosting.report(problem, "multica terminal"));
			wire.reply(errorFrame(code, message, { request_id: payload.request_id }));
		} finally {
			this.#count--;
		}
	}

	async #attend(payload: OpenPayload): Promise<void> {
		const { wire, principal, request, options, terminals, hosting, times } = this.#parts;
		const witness = auditedCallerOf(request);
		const task = namedTask(options.workspaces, payload, principal);
		const gone = new AbortController();
		const end = () => gone.abort();
		let mine: Terminal | undefined;
		wire.ended.addEventListener("abort", end, { once: true });
		try {
			const hold = await terminals.open({
				principal,
				witness,
				task,
				owner: ownerOf(principal, payload.user_id || undefined),
				issue: payload.issue_id || (task.issueId ?? ""),
				priorSession: payload.prior_session_id || (task.priorSessionId ?? ""),
				size: payload.size,
				signal: wire.ended,
				evict: end,
			});
			await serveClient({
				session: hold.session,
				hold,
				principal,
				witness,
				task,
				requestId: payload.request_id,
				send: (frame) => wire.send(frame),
				source: this.#source(hold.session, gone.signal),
				terminals,
				hosting,
				resizeMs: times.resizeMs,
				onOpened: (terminal) => {
					mine = terminal;
					this.#opened.set(terminal.session.id, terminal);
				},
			});
			// While the socket is open, only a takeover ends this client's part.
			if (gone.signal.aborted) wire.reply(closeFrame(hold.session.id, "taken_over"));
		} finally {
			wire.ended.removeEventListener("abort", end);
			if (mine) this.#forget(mine);
		}
	}

	/** No effect if the same session was opened again meanwhile. */
	#forget(terminal: Terminal): void {
		const { id } = terminal.session;
		if (this.#opened.get(id) !== terminal) return;
		this.#opened.delete(id);
		this.#full.delete(id);
	}

	/** Tracked per terminal, so that one with a full input queue does not delay the others. */
	#source({ id }: Session, ended: AbortSignal): InputSource {
		return { ended, pause: () => void this.#full.add(id), resume: () => void this.#full.delete(id) };
	}

	#find(session: string, act: (terminal: Terminal) => void): void {
		const terminal = this.#opened.get(session);
		if (!terminal) this.#refuse(session, "session_not_found", "there is no such terminal on this socket");
		// Input is discarded silently once the terminal is being closed.
		else if (this.#parts.terminals.reasonOf(terminal.session) === undefined) act(terminal);
	}

	#refuse(session_id: string, code: TerminalError["code"], message: string): void {
		this.#parts.wire.reply(errorFrame(code, message, { session_id: session_id.slice(0, 64) }));
	}
}
