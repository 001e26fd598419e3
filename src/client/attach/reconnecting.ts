/** Keeps an attachment connected with successive connections, until it is stopped or complete. */

import type { ServerFrame } from "../../api/frames.ts";
import { closeCodes } from "../../api/socket.ts";
import type { ClientMessage, Hello, SendAnswer, SendMessage, ServerMessage } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { HawserError } from "../errors.ts";
import { Backoff } from "../http/retries.ts";
import type { Transport } from "../http/transport.ts";
import { type CloseResult, Connection } from "./connection.ts";
import type { ConnectionEvent } from "./event-queue.ts";
import { reasonOf } from "./final-errors.ts";
import { InputSender } from "./input-sender.ts";
import type { LeaseState } from "./lease-state.ts";
import type { Outbox } from "./outbox.ts";
import { PendingRequests } from "./pending-requests.ts";
import type { Reader } from "./reader.ts";
import { openWebSocket, type Ticket, type WebSocketLike } from "./websocket.ts";

/** The part of `hello` common to all connections. The size may change. */
type Greeting = {
	-readonly [Key in keyof Pick<Hello, "role" | "flow" | "stream" | "replies" | "size" | "activity">]: Hello[Key];
};

export type LinkOptions = {
	readonly transport: Transport;
	/** ID of the session. */
	readonly id: string;
	readonly hello: Greeting;
	/** Start of the first connection, instead of output. */
	readonly screen: Pick<Hello, "from" | "scrollback"> | undefined;
	readonly reader: Reader;
	readonly outbox: Outbox;
	readonly control: LeaseState;
	/** Replaces the token. */
	readonly ticket: Ticket | undefined;
	/** How long the server may be unreachable. Default: one minute before the first connection, no limit after it. */
	readonly reconnectTimeoutMs: number | undefined;
	readonly onConnection: (event: ConnectionEvent) => void;
	/** Called when the program takes no more input. */
	readonly onInputOver: (error: HawserError) => void;
};

/** How long to try the first connection, by default. */
const FIRST_CONNECTION_MS = 60_000;
/**
 * Consecutive refused tickets of a function before the attachment ends. One is normal if the server restarted after
 * issuing it.
 */
const MOST_REFUSED_TICKETS = 2;

export class ReconnectingSocket {
	readonly #options: LinkOptions;
	readonly #stopped = new AbortController();
	readonly #input: InputSender;
	readonly #sends = new PendingRequests<SendAnswer>();
	#connection: Connection | undefined;
	/** Requested until a server has sent it, or is too old to support it. */
	#screen: Pick<Hello, "from" | "scrollback"> | undefined;
	/** Whether the session had ended when this connection started. */
	#isAfterEnd = false;
	/** The size last sent on this connection. */
	#sentSize: Hello["size"];
	/** Whether the connection ended because a new one was requested. */
	#isRenewed = false;
	/** Ends the pause before the next attempt. */
	#wake: () => void = () => {};

	constructor(options: LinkOptions) {
		this.#options = options;
		this.#screen = options.screen;
		this.#input = new InputSender(options.outbox, (error) => options.onInputOver(error));
	}

	/** Resolves when stopped or complete; throws when retrying is pointless. */
	async run(): Promise<void> {
		const { transport, reader, id, ticket, reconnectTimeoutMs } = this.#options;
		const { signal } = this.#stopped;
		const backoff = new Backoff(transport.times);
		let awaySince: number | undefined;
		let wasConnected = false;
		let refusedTickets = 0;
		while (!signal.aborted) {
			const ending = await this.#connect();
			if (signal.aborted || reader.isComplete) return;
			if (this.#isRenewed) {
				this.#isRenewed = false;
				continue;
			}
			if (this.#screen && ending.code === closeCodes.protocolError) {
				this.#screen = undefined;
				continue;
			}
			if (ending.wasWelcome) {
				backoff.reset();
				awaySince = undefined;
				wasConnected = true;
			}
			transport.lost();
			const reason = await this.#bounded((bound) => reasonOf(ending, transport, { id, ticket, signal: bound }));
			refusedTickets = reason.isTicketRefused ? refusedTickets + 1 : 0;
			if (reason.isFinal || refusedTickets >= MOST_REFUSED_TICKETS) throw reason.error;
			if (ending.code === closeCodes.done && this.#isAfterEnd) return;
			// The server did not wait for our reader. The missing output is read when the reader asks for it.
			if (ending.code === closeCodes.tooSlow) await reader.untilRead(signal);

			awaySince ??= performance.now();
			const limitMs = reconnectTimeoutMs ?? (wasConnected ? Number.POSITIVE_INFINITY : FIRST_CONNECTION_MS);
			if (performance.now() - awaySince >= limitMs) throw reason.error;
			const retryMs = backoff.next();
			this.#report({ kind: "connection", state: "disconnected", error: reason.error, retryMs });
			await this.#rest(retryMs);
		}
	}

	/** Reconnects at once. With a screen, the new connection starts with it. */
	reconnect(screen: Pick<Hello, "from" | "scrollback"> | undefined): void {
		if (screen) this.#screen = screen;
		this.#wake();
		if (!this.#connection) return;
		this.#isRenewed = true;
		this.#connection.cut("reconnecting");
	}

	/** Stops reconnecting, and closes the connection with this code. */
	stop(code: number): void {
		this.#stopped.abort();
		this.#connection?.close(code);
	}

	/** Sends a message if there is a connection. Important ones are sent again on the next connection. */
	say(message: ClientMessage): void {
		if (this.#input.isOpen) this.#connection?.send(message);
	}

	/**
	 * Sends input, waits and reads in one request on this connection. Rejects with a temporary error if the connection is
	 * lost.
	 */
	send(message: Omit<SendMessage, "id">, signal?: AbortSignal): Promise<SendAnswer> {
		return this.#sends.ask((id) => {
			if (this.#input.isOpen) this.#connection?.send({ ...message, id });
			return this.#input.isOpen;
		}, signal);
	}

	/** Sends pending input, as far as the window allows. */
	pump(): void {
		this.#input.pump();
	}

	/** One connection from start to end. Never throws; returns the reason of the end. */
	async #connect(): Promise<CloseResult> {
		const { transport, hello, reader } = this.#options;
		const none: CloseResult = { code: 1006, reason: "", status: undefined, wasWelcome: false, fault: undefined };
		try {
			const socket = await this.#dial();
			if (!socket) return { ...none, reason: "no answer" };
			this.#sentSize = hello.size;
			const connection = new Connection(socket, {
				hello: { type: "hello", since: reader.ask(), ...hello, ...this.#screen },
				times: transport.times,
				receive: (received) => this.#receive(received),
			});
			this.#connection = connection;
			return await connection.ended;
		} catch (error) {
			return { ...none, fault: error };
		} finally {
			this.#connection = undefined;
			this.#input.close();
			this.#sends.failAll();
			reader.close();
		}
	}

	/** A socket that is connecting; undefined if the ticket or address took too long. */
	#dial(): Promise<WebSocketLike | undefined> {
		const { transport, id, hello, ticket } = this.#options;
		return this.#bounded(async (bound) => {
			const dialled = openWebSocket(transport, { id, role: hello.role, ticket });
			const isLate = await Promise.race([dialled.then(() => false), aborted(bound)]);
			if (!isLate && !this.#stopped.signal.aborted) return dialled;
			dialled.then(discard, () => {});
			return undefined;
		});
	}

	#receive(received: ServerFrame | ServerMessage): void {
		const { reader, control, onInputOver } = this.#options;
		if ("kind" in received) {
			if (received.kind === "receipt") this.#input.receipt(received);
			else reader.receive(received);
			return;
		}
		switch (received.type) {
			case "welcome":
				this.#welcome(received);
				break;
			case "lease":
				control.onLease(received.lease);
				reader.push({ kind: "lease", lease: received.lease });
				break;
			case "replies":
				reader.push({ kind: "replies", from: received.from, mine: received.mine });
				break;
			case "waiting": {
				const { offset, prompt, program, awaited } = received;
				reader.push({ kind: "waiting", offset, prompt, program, awaited });
				break;
			}
			case "ready": {
				const { offset, prompt, program } = received;
				reader.push({ kind: "ready", offset, prompt, program });
				break;
			}
			case "command":
				reader.push({ kind: "command", phase: received.phase, command: received.command });
				break;
			case "approval":
				reader.push({ kind: "approval", approval: received.approval });
				break;
			case "sent":
				this.#sends.answered(received.id, received.answer);
				break;
			case "error":
				this.#refused(received);
				break;
			case "closed":
			case "lost":
				onInputOver(new HawserError("session_closed", "the program has ended"));
				reader.receive(received);
				break;
			default:
				reader.receive(received);
		}
	}

	#welcome({ session, output, input, lease, screen }: Extract<ServerMessage, { type: "welcome" }>): void {
		const { reader, control, hello } = this.#options;
		const connection = this.#connection;
		if (!connection) return;
		const isOver = session.state === "closed" || session.state === "lost";
		this.#screen = undefined;
		reader.open({ from: output.from, isOver, screen }, (offset) => connection.send({ kind: "consumed", offset }));
		this.#isAfterEnd = isOver;
		this.#report({ kind: "connection", state: "connected", session });
		if (hello.role === "viewer") return;
		// The size changed after the hello, and could not be sent before the welcome.
		if (hello.size && hello.size !== this.#sentSize) connection.send({ type: "size", ...hello.size });
		// Before the input, which needs the lease.
		for (const request of control.open(lease)) connection.send(request);
		this.#input.open(input, (message) => connection.send(message));
	}

	#refused({ code, message, hint, position, id }: Extract<ServerMessage, { type: "error" }>): void {
		const { reader, control } = this.#options;
		const error = new HawserError(code, message, hint === undefined ? {} : { hint });
		if (id !== undefined) this.#sends.refused(id, error);
		else if (position !== undefined) this.#input.refused(error, position);
		else if (!control.refused(error)) reader.push({ kind: "refused", code, message });
	}

	#report(event: ConnectionEvent): void {
		this.#options.reader.push(event);
		this.#options.onConnection(event);
	}

	/** A pause that ends early when stopped or when a reconnect is requested. */
	async #rest(ms: number): Promise<void> {
		const { signal } = this.#stopped;
		const rest = new AbortController();
		this.#wake = () => rest.abort();
		signal.addEventListener("abort", this.#wake, { once: true });
		await sleep(signal.aborted ? 0 : ms, rest.signal);
		signal.removeEventListener("abort", this.#wake);
	}

	/** Runs work with a signal that is aborted when stopped, or after the connection timeout. */
	async #bounded<T>(work: (bound: AbortSignal) => Promise<T>): Promise<T> {
		const bound = new AbortController();
		const abort = () => bound.abort();
		const timer = setTimeout(abort, this.#options.transport.times.connectMs);
		this.#stopped.signal.addEventListener("abort", abort, { once: true });
		if (this.#stopped.signal.aborted) abort();
		try {
			return await work(bound.signal);
		} finally {
			clearTimeout(timer);
			this.#stopped.signal.removeEventListener("abort", abort);
		}
	}
}

function aborted(signal: AbortSignal): Promise<true> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve(true);
		signal.addEventListener("abort", () => resolve(true), { once: true });
	});
}

function discard(socket: WebSocketLike): void {
	// `ws` throws errors that have no listener.
	socket.onerror = () => {};
	if (socket.terminate) socket.terminate();
	else socket.close();
}
