/** A minimal client of the WebSocket: stores everything received, and waits for conditions. */

import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { decodeServerFrame, encodeClientFrame, type ServerFrame } from "../../src/api/frames.ts";
import type { ClientMessage, Hello, ServerMessage } from "../../src/api/types.ts";
import { Change } from "../../src/core/async/change.ts";
import { TOKEN } from "./native-server.ts";
import { untilFact } from "./reading.ts";

type Of<T extends ServerMessage["type"]> = Extract<ServerMessage, { type: T }>;
export type Received = ServerMessage | ServerFrame;

export type TestSocketOptions = {
	readonly token?: string;
	readonly protocols?: string[];
	/** Acknowledges output as soon as it arrives. Default: true. */
	readonly acks?: boolean;
	readonly headers?: Record<string, string>;
	/** Makes the connection, where a URL is not enough. */
	readonly dial?: () => Socket;
};

export class TestSocket {
	readonly socket: WebSocket;
	/** Everything received, in order. */
	readonly received: Received[] = [];
	readonly closed: Promise<{ code: number; reason: string }>;
	#isAcking: boolean;
	readonly #change = new Change();

	constructor(url: string, id: string, options: TestSocketOptions = {}) {
		const headers = { authorization: `Bearer ${options.token ?? TOKEN}`, ...options.headers };
		this.#isAcking = options.acks ?? true;
		this.socket = new WebSocket(
			`${url.replace(/^http/, "ws")}/v1/sessions/${id}/attach`,
			options.protocols ?? ["hawser.v1"],
			{ headers, ...(options.dial ? { createConnection: options.dial } : {}) },
		);
		this.socket.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
		this.closed = new Promise((resolve) => {
			this.socket.on("close", (code, reason) => {
				resolve({ code, reason: reason.toString() });
				this.#change.happen();
			});
		});
		this.socket.on("error", () => {});
	}

	/** Connects and sends hello. Resolves with the welcome. */
	static async open(url: string, id: string, hello: Partial<Hello> = {}, options: TestSocketOptions = {}) {
		const client = new TestSocket(url, id, options);
		await client.opened();
		client.say({ type: "hello", since: 0, role: "writer", flow: "lossless", ...hello });
		await client.message("welcome");
		return client;
	}

	opened(): Promise<void> {
		return new Promise((resolve, reject) => {
			this.socket.once("open", resolve);
			this.socket.once("error", reject);
		});
	}

	get messages(): ServerMessage[] {
		return this.received.filter((one): one is ServerMessage => "type" in one);
	}

	get output(): Buffer {
		return Buffer.concat(this.received.flatMap((one) => ("kind" in one && one.kind === "output" ? [one.bytes] : [])));
	}

	get receipt(): { next: number; written: number } | undefined {
		const receipts = this.received.flatMap((one) => ("kind" in one && one.kind === "receipt" ? [one] : []));
		const last = receipts.at(-1);
		return last && { next: last.next, written: last.written };
	}

	say(message: ClientMessage): void {
		this.socket.send(JSON.stringify(message));
	}

	type(position: number, text: string | Uint8Array): void {
		const bytes = typeof text === "string" ? Buffer.from(text) : text;
		this.socket.send(encodeClientFrame({ kind: "input", position, bytes }));
	}

	consumed(offset: number): void {
		this.socket.send(encodeClientFrame({ kind: "consumed", offset }));
	}

	/** Acknowledges everything received, and from now on everything that arrives. */
	startAcking(): void {
		this.#isAcking = true;
		for (const one of this.received) this.#ack(one);
	}

	/** The last matching message of a type, as soon as there is one. */
	message<T extends ServerMessage["type"]>(type: T, fits: (message: Of<T>) => boolean = () => true): Promise<Of<T>> {
		return this.until(`${type}`, () =>
			this.messages.findLast((one): one is Of<T> => one.type === type && fits(one as Of<T>)),
		);
	}

	/** Waits for a condition, and fails with everything received if it does not hold in time. */
	until<Value>(what: string, look: () => Value | undefined | false): Promise<Value> {
		const missed = () => `waited for ${what}; received ${JSON.stringify(this.messages)}`;
		return untilFact(this.#change, look, { missed });
	}

	text(fits: (text: string) => boolean): Promise<string> {
		return this.until("output", () => {
			const text = this.output.toString("latin1");
			return fits(text) && text;
		});
	}

	/** Drops the connection silently, like a failing network. */
	cut(): void {
		this.socket.terminate();
	}

	#receive(data: Buffer, isBinary: boolean): void {
		const one = isBinary ? decodeServerFrame(data) : (JSON.parse(data.toString()) as ServerMessage);
		this.received.push(one);
		if (this.#isAcking) this.#ack(one);
		this.#change.happen();
	}

	#ack(one: Received): void {
		if ("kind" in one && one.kind === "output" && this.socket.readyState === WebSocket.OPEN) {
			this.consumed(one.offset + one.bytes.byteLength);
		}
	}
}
