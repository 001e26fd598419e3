/** One connection, from `hello` to its end, including silent failures. */

import { type ClientFrame, decodeServerFrame, encodeClientFrame, type ServerFrame } from "../../api/frames.ts";
import type { ClientMessage, Hello, ServerMessage } from "../../api/types.ts";
import { HawserError } from "../errors.ts";
import type { ConnectionTimeouts } from "../http/retries.ts";
import type { WebSocketLike } from "./websocket.ts";

/** How a connection ended. */
export type CloseResult = {
	/** The close code; 1006 if there was none. */
	readonly code: number;
	readonly reason: string;
	/** The HTTP status that refused the upgrade, if known. */
	readonly status: number | undefined;
	/** Whether the server sent `welcome`. */
	readonly wasWelcome: boolean;
	/** The invalid message, if one ended the connection. */
	readonly fault: unknown;
};

type ConnectionOptions = {
	readonly hello: Hello;
	readonly times: ConnectionTimeouts;
	/** Called in the order of arrival. An error it throws ends the connection as a fault. */
	readonly receive: (received: ServerFrame | ServerMessage) => void;
};

const NO_CODE = 1006;
/** Time allowed for the closing handshake. */
const CLOSE_MS = 2_000;

export class Connection {
	readonly ended: Promise<CloseResult>;
	readonly #socket: WebSocketLike;
	readonly #options: ConnectionOptions;
	#end: (ending: CloseResult) => void = () => {};
	#isOver = false;
	#wasWelcome = false;
	#status: number | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#lastMessageAt = 0;
	#isPinged = false;

	constructor(socket: WebSocketLike, options: ConnectionOptions) {
		this.#socket = socket;
		this.#options = options;
		this.ended = new Promise((resolve) => {
			this.#end = resolve;
		});
		if (socket.binaryType === "blob") socket.binaryType = "arraybuffer";
		socket.onopen = () => this.send(options.hello);
		socket.onmessage = (event: { data: unknown }) => this.#receive(event.data);
		socket.onerror = (event: { message?: string }) => {
			// Only `ws` reports the status, and only here; browsers don't.
			const [, status] = /server response: (\d{3})/.exec(event.message ?? "") ?? [];
			if (status !== undefined) this.#status = Number(status);
		};
		socket.onclose = (event: { code: number; reason: string }) => this.#over(event.code, event.reason);
		this.#timer = setTimeout(() => this.cut("no answer"), options.times.connectMs);
	}

	send(message: ClientMessage | ClientFrame): void {
		if (this.#isOver) return;
		try {
			this.#socket.send("type" in message ? JSON.stringify(message) : encodeClientFrame(message));
		} catch (error) {
			// Browsers throw while connecting or closing. The connection is ending, and the next one resends everything.
			this.cut(String(error));
		}
	}

	/** Closes with a handshake. */
	close(code: number): void {
		if (this.#isOver) return;
		this.#over(code, "");
		// The server may never read the close frame, or never answer.
		const timer = setTimeout(() => this.#terminate(), CLOSE_MS);
		this.#socket.onclose = () => clearTimeout(timer);
		try {
			this.#socket.close(code);
		} catch {
			// Already closing.
		}
	}

	/** Ends the connection without waiting for the server. */
	cut(reason: string): void {
		if (this.#isOver) return;
		this.#over(NO_CODE, reason);
		this.#terminate();
	}

	#receive(data: unknown): void {
		if (this.#isOver) return;
		this.#lastMessageAt = performance.now();
		this.#isPinged = false;
		try {
			const received = typeof data === "string" ? parse(data) : decodeServerFrame(toBytes(data));
			if (!this.#wasWelcome) this.#begin(received);
			this.#options.receive(received);
		} catch (error) {
			this.#over(NO_CODE, "", error);
			this.#terminate();
		}
	}

	#begin(received: ServerFrame | ServerMessage): void {
		// An error may come instead of a welcome, with the reason for the close that follows.
		if (!("type" in received) || received.type !== "welcome") return;
		this.#wasWelcome = true;
		this.#watch();
	}

	/** Pings after a silence, and gives up after a longer one. */
	#watch(): void {
		const { pingMs, deadMs } = this.#options.times;
		clearTimeout(this.#timer);
		const silentMs = performance.now() - this.#lastMessageAt;
		const dueMs = Math.max(1, (this.#isPinged ? deadMs : pingMs) - silentMs);
		const dueAt = performance.now() + dueMs;
		this.#timer = setTimeout(() => {
			// If this machine was suspended, the answer may already be waiting behind this timer.
			const wasAsleep = performance.now() - dueAt > (deadMs - pingMs) / 2;
			if (performance.now() - this.#lastMessageAt >= deadMs && this.#isPinged && !wasAsleep) {
				this.cut(`no message for ${deadMs} ms`);
				return;
			}
			if (wasAsleep) this.#lastMessageAt = performance.now() - pingMs;
			if (performance.now() - this.#lastMessageAt >= pingMs) {
				this.#isPinged = true;
				this.send({ type: "ping" });
			}
			if (!this.#isOver) this.#watch();
		}, dueMs);
	}

	#terminate(): void {
		try {
			if (this.#socket.terminate) this.#socket.terminate();
			else this.#socket.close();
		} catch {
			// Already closing.
		}
	}

	#over(code: number, reason: string, fault?: unknown): void {
		if (this.#isOver) return;
		this.#isOver = true;
		clearTimeout(this.#timer);
		this.#end({ code, reason, status: this.#status, wasWelcome: this.#wasWelcome, fault });
	}
}

function parse(text: string): ServerMessage {
	const message: unknown = JSON.parse(text);
	if (typeof message === "object" && message !== null && "type" in message) return message as ServerMessage;
	throw new HawserError("internal", `invalid message: ${text.slice(0, 80)}`);
}

function toBytes(data: unknown): Uint8Array {
	if (data instanceof Uint8Array) return data;
	if (data instanceof ArrayBuffer) return new Uint8Array(data);
	throw new HawserError("internal", "invalid message: expected text or bytes");
}
