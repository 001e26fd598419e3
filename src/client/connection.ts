/** One connection from `hello` to its end, whoever ends it and however quietly. */

import { type ClientFrame, decodeServerFrame, encodeClientFrame, type ServerFrame } from "../protocol/frames.ts";
import type { ClientMessage, Hello, ServerMessage } from "../protocol/socket.ts";
import { HawserError } from "./error.ts";
import type { Times } from "./times.ts";
import type { WebSocketLike } from "./web-socket.ts";

/** How a connection ended. */
export type Ending = {
	/** The close code; 1006 when there was none. */
	readonly code: number;
	readonly reason: string;
	/** The HTTP status that refused the upgrade, where it is known. */
	readonly status: number | undefined;
	/** Whether it ever came to a `welcome`. */
	readonly wasWelcome: boolean;
	/** What we could not make sense of, when that is why. */
	readonly fault: unknown;
};

export type ConnectionOptions = {
	readonly hello: Hello;
	readonly times: Times;
	/** Called in the order of arrival. What it throws ends the connection as a fault. */
	readonly receive: (received: ServerFrame | ServerMessage) => void;
};

const NO_CODE = 1006;
/** How long the closing handshake may take. */
const CLOSE_MS = 2_000;

export class Connection {
	readonly ended: Promise<Ending>;
	readonly #socket: WebSocketLike;
	readonly #options: ConnectionOptions;
	#end: (ending: Ending) => void = () => {};
	#isOver = false;
	#wasWelcome = false;
	#status: number | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#heardAt = 0;
	#isAsked = false;

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
			// The only place where `ws` says so; a browser says nothing.
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
			// A browser throws while it connects or closes: the end is near, and everything is sent again after it.
			this.cut(String(error));
		}
	}

	/** Ends it politely. */
	close(code: number): void {
		if (this.#isOver) return;
		this.#over(code, "");
		// The other side may never read it, or never answer.
		const timer = setTimeout(() => this.#terminate(), CLOSE_MS);
		this.#socket.onclose = () => clearTimeout(timer);
		try {
			this.#socket.close(code);
		} catch {
			// It was closing already.
		}
	}

	/** Ends it at once: the other side is not expected to answer. */
	cut(reason: string): void {
		if (this.#isOver) return;
		this.#over(NO_CODE, reason);
		this.#terminate();
	}

	#receive(data: unknown): void {
		if (this.#isOver) return;
		this.#heardAt = performance.now();
		this.#isAsked = false;
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
		// An error may come instead of a welcome, and says why the close does that follows it.
		if (!("type" in received) || received.type !== "welcome") return;
		this.#wasWelcome = true;
		this.#watch();
	}

	/** Asks after a silence, and gives up after a longer one. */
	#watch(): void {
		const { pingMs, deadMs } = this.#options.times;
		clearTimeout(this.#timer);
		const silentMs = performance.now() - this.#heardAt;
		const dueMs = Math.max(1, (this.#isAsked ? deadMs : pingMs) - silentMs);
		const dueAt = performance.now() + dueMs;
		this.#timer = setTimeout(() => {
			// When we were asleep ourselves, the answer may be waiting behind this timer.
			const wasAsleep = performance.now() - dueAt > (deadMs - pingMs) / 2;
			if (performance.now() - this.#heardAt >= deadMs && this.#isAsked && !wasAsleep) {
				this.cut(`nothing was heard for ${deadMs} ms`);
				return;
			}
			if (wasAsleep) this.#heardAt = performance.now() - pingMs;
			if (performance.now() - this.#heardAt >= pingMs) {
				this.#isAsked = true;
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
			// It was closing already.
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
	throw new HawserError("internal", `the server sent ${text.slice(0, 80)}`);
}

function toBytes(data: unknown): Uint8Array {
	if (data instanceof Uint8Array) return data;
	if (data instanceof ArrayBuffer) return new Uint8Array(data);
	throw new HawserError("internal", "the server sent something that is neither text nor bytes");
}
