/** What keeps an attachment connected: one connection after the other, until it is stopped or nothing can follow. */

import type { SendAnswer } from "../protocol/acts.ts";
import type { ServerFrame } from "../protocol/frames.ts";
import {
	type ClientMessage,
	closeCodes,
	type Hello,
	type SendMessage,
	type ServerMessage,
} from "../protocol/socket.ts";
import { Asked } from "./asked.ts";
import { Connection, type Ending } from "./connection.ts";
import type { Control } from "./control.ts";
import { HawserError } from "./error.ts";
import type { ConnectionEvent } from "./event-queue.ts";
import { InputFlow } from "./input-flow.ts";
import type { Outbox } from "./outbox.ts";
import type { Reader } from "./reader.ts";
import { finalError, isPassing } from "./refusal.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";
import { openWebSocket, type Ticket, type WebSocketLike } from "./web-socket.ts";

export type LinkOptions = {
	readonly transport: Transport;
	/** The session's. */
	readonly id: string;
	readonly hello: Pick<Hello, "role" | "flow" | "stream" | "replies" | "size" | "activity">;
	/** What the first connection begins with, instead of output. */
	readonly screen: Pick<Hello, "from" | "scrollback"> | undefined;
	readonly reader: Reader;
	readonly outbox: Outbox;
	readonly control: Control;
	/** What to show instead of a token. */
	readonly ticket: Ticket | undefined;
	readonly patienceMs: number;
	readonly onConnection: (event: ConnectionEvent) => void;
	/** The program takes no more input. */
	readonly onInputOver: (error: HawserError) => void;
};

export class Link {
	readonly #options: LinkOptions;
	readonly #stopped = new AbortController();
	readonly #input: InputFlow;
	readonly #sends = new Asked<SendAnswer>();
	#connection: Connection | undefined;
	/** Asked for until a server has welcomed us, or is too old to know it. */
	#screen: Pick<Hello, "from" | "scrollback"> | undefined;
	/** The session had ended when this connection began. */
	#isAfterEnd = false;
	/** The size that this connection has been told. */
	#toldSize: Hello["size"];
	/** Another connection is wanted at once, instead of the one that there is. */
	#isRenewed = false;
	/** Ends the pause before the next attempt. */
	#wake: () => void = () => {};

	constructor(options: LinkOptions) {
		this.#options = options;
		this.#screen = options.screen;
		this.#input = new InputFlow(options.outbox, (error) => options.onInputOver(error));
	}

	/** Ends when stopped, or when everything has arrived; throws when there can be no further connection. */
	async run(): Promise<void> {
		const { transport, reader, id, ticket, patienceMs } = this.#options;
		const { signal } = this.#stopped;
		const backoff = new Backoff(transport.times);
		let awaySince: number | undefined;
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
			}
			transport.lost();
			const final = await this.#bounded((bound) => finalError(ending, transport, { id, ticket, signal: bound }));
			if (final) throw final;
			if (ending.code === closeCodes.done && this.#isAfterEnd) return;
			// The server has not waited for our reader, and need not: what is missing is read when it is asked for.
			if (ending.code === closeCodes.tooSlow) await reader.demand(signal);

			awaySince ??= performance.now();
			const error = new HawserError("node_unavailable", `not connected to the server: ${wordsOf(ending)}`);
			if (performance.now() - awaySince >= patienceMs) throw error;
			const retryMs = backoff.next();
			this.#report({ kind: "connection", state: "disconnected", error, retryMs });
			await this.#rest(retryMs);
		}
	}

	/** Connects anew at once, whether there is a connection or a pause; with a screen, that comes first again. */
	renew(screen: Pick<Hello, "from" | "scrollback"> | undefined): void {
		if (screen) this.#screen = screen;
		this.#wake();
		if (!this.#connection) return;
		this.#isRenewed = true;
		this.#connection.cut("another connection is wanted");
	}

	/** No further connection; the one there is ends with this code. */
	stop(code: number): void {
		this.#stopped.abort();
		this.#connection?.close(code);
	}

	/** Says something now, if there is a connection; what matters is said again on the next one. */
	say(message: ClientMessage): void {
		if (this.#input.isOpen) this.#connection?.send(message);
	}

	/** Types, waits and reads in one call, on this connection; rejects with a temporary error when that is lost. */
	send(message: Omit<SendMessage, "id">, signal?: AbortSignal): Promise<SendAnswer> {
		return this.#sends.ask((id) => {
			if (this.#input.isOpen) this.#connection?.send({ ...message, id });
			return this.#input.isOpen;
		}, signal);
	}

	/** Sends what waits and may be sent. */
	pump(): void {
		this.#input.pump();
	}

	/** One connection from its beginning to its end, which is always told, never thrown. */
	async #connect(): Promise<Ending> {
		const { transport, hello, reader } = this.#options;
		const none: Ending = { code: 1006, reason: "", status: undefined, wasWelcome: false, fault: undefined };
		try {
			const socket = await this.#dial();
			if (!socket) return { ...none, reason: "no answer" };
			this.#toldSize = hello.size;
			const connection = new Connection(socket, {
				hello: { type: "hello", since: reader.ask(), ...hello, ...this.#screen },
				times: transport.times,
				receive: (received) => this.#receive(received),
			});
			this.#connection = connection;
			return await connection.ended;
		} catch (error) {
			const isOver = !(error instanceof HawserError) || !isPassing(error);
			return {
				...none,
				reason: error instanceof Error ? error.message : String(error),
				fault: isOver ? error : undefined,
			};
		} finally {
			this.#connection = undefined;
			this.#input.close();
			this.#sends.lose();
			reader.close();
		}
	}

	/** A socket that has begun to connect; undefined when even that took too long. */
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
				control.granted(received.lease);
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
		// It has changed since the hello, and could not be said before the welcome.
		if (hello.size && hello.size !== this.#toldSize) connection.send({ type: "size", ...hello.size });
		// Before the input that is to be sent under it.
		for (const demand of control.open(lease)) connection.send(demand);
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

	/** A pause that ends when we are stopped, or when somebody can't wait. */
	async #rest(ms: number): Promise<void> {
		const { signal } = this.#stopped;
		const rest = new AbortController();
		this.#wake = () => rest.abort();
		signal.addEventListener("abort", this.#wake, { once: true });
		await pause(signal.aborted ? 0 : ms, rest.signal);
		signal.removeEventListener("abort", this.#wake);
	}

	/** Gives a signal that is aborted when we are stopped, or when it takes longer than a connection may. */
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
	// `ws` throws an error that nobody listens for.
	socket.onerror = () => {};
	if (socket.terminate) socket.terminate();
	else socket.close();
}

function wordsOf({ code, reason, status }: Ending): string {
	if (status !== undefined) return `it answered with status ${status}`;
	return reason || (code === 1006 ? "the connection broke" : `it was closed with code ${code}`);
}
