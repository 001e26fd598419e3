/** A minimal client of a PTY's WebSocket: stores everything received, and waits for conditions. */

import { request as httpRequest, type IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { Change } from "../../../../../src/core/async/change.ts";
import { untilFact } from "../../../../support/reading.ts";
import type { ExecdServer } from "./execd-server.ts";

export type Message = { readonly type: string; readonly [member: string]: unknown };

export type Received =
	| { readonly kind: "stdout" | "stderr"; readonly bytes: Buffer }
	| { readonly kind: "replay"; readonly offset: number; readonly bytes: Buffer }
	| { readonly kind: "message"; readonly message: Message };

export type PtyClientOptions = { readonly headers?: Record<string, string>; readonly path?: string };

export class PtyClient {
	readonly socket: WebSocket;
	/** Everything received, in order. */
	readonly received: Received[] = [];
	/** The offset for the next connection, counted as clients do. */
	position: number;
	readonly closed: Promise<{ code: number; reason: string }>;
	readonly #change = new Change();

	/** `position` is the `since` of the query, if it has one. */
	constructor(url: string, id: string, query = "", options: PtyClientOptions = {}) {
		this.position = Number(new URLSearchParams(query).get("since") ?? 0);
		const path = options.path ?? `/pty/${id}/ws`;
		this.socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}${query === "" ? "" : `?${query}`}`, {
			headers: options.headers ?? {},
			perMessageDeflate: false,
		});
		this.socket.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
		this.closed = new Promise((resolve) => {
			this.socket.on("close", (code, reason) => {
				resolve({ code, reason: reason.toString() });
				this.#change.happen();
			});
		});
		this.socket.on("error", () => {});
	}

	/** Resolves once the server reports the connection. */
	static async open(server: { url: string }, id: string, query = "", options: PtyClientOptions = {}) {
		const client = new PtyClient(server.url, id, query, options);
		await client.message("connected");
		return client;
	}

	get messages(): Message[] {
		return this.received.flatMap((one) => (one.kind === "message" ? [one.message] : []));
	}

	/** All bytes from the replay on. */
	get output(): Buffer {
		return Buffer.concat(this.received.flatMap((one) => (one.kind === "message" ? [] : [one.bytes])));
	}

	get replay(): { offset: number; bytes: Buffer } | undefined {
		const [first] = this.received;
		return first?.kind === "replay" ? first : undefined;
	}

	type(text: string | Uint8Array): void {
		this.socket.send(Buffer.concat([Buffer.of(0), Buffer.from(text as string)]));
	}

	say(message: unknown): void {
		this.socket.send(JSON.stringify(message));
	}

	/** The last message of a type, as soon as there is one. */
	message(type: string): Promise<Message> {
		return this.until(type, () => this.messages.findLast((one) => one.type === type));
	}

	text(pattern: RegExp): Promise<string> {
		return this.until(String(pattern), () => {
			const text = this.output.toString("latin1");
			return pattern.test(text) && text;
		});
	}

	/** Waits for a condition, and fails with everything received if it does not hold in time. */
	until<Value>(what: string, look: () => Value | undefined | false): Promise<Value> {
		const isOver = () => this.socket.readyState === WebSocket.CLOSED;
		return untilFact(this.#change, look, { missed: () => this.#missed(what), isOver });
	}

	/** Closes like a well-behaved client. */
	async close(): Promise<void> {
		this.socket.close();
		await this.closed;
	}

	/** Drops the connection silently, like a failing network. */
	cut(): void {
		this.socket.terminate();
	}

	#receive(data: Buffer, isBinary: boolean): void {
		const one = decode(data, isBinary);
		this.received.push(one);
		if (one.kind === "replay") this.position = one.offset + one.bytes.byteLength;
		else if (one.kind !== "message") this.position += one.bytes.byteLength;
		this.#change.happen();
	}

	#missed(what: string): string {
		return `waited for ${what}; received ${JSON.stringify(this.messages)} ${this.output.toString("latin1").slice(-500)}`;
	}
}

function decode(data: Buffer, isBinary: boolean): Received {
	if (!isBinary) return { kind: "message", message: JSON.parse(data.toString()) as Message };
	if (data[0] === 3) return { kind: "replay", offset: Number(data.readBigUInt64BE(1)), bytes: data.subarray(9) };
	if (data[0] === 1 || data[0] === 2) return { kind: data[0] === 1 ? "stdout" : "stderr", bytes: data.subarray(1) };
	throw new Error(`a frame of an unknown kind: ${data[0]}`);
}

/** Creates a PTY and returns its id. */
export async function createPty(server: ExecdServer, body?: object): Promise<string> {
	const response = await server.post("/pty", body);
	const answer = (await response.json()) as { session_id: string };
	if (response.status !== 201) throw new Error(JSON.stringify(answer));
	return answer.session_id;
}

export type PtyStatus = { session_id: string; running: boolean; output_offset: number };

export async function statusOf(server: ExecdServer, id: string): Promise<PtyStatus> {
	return (await (await server.request(`/pty/${id}`)).json()) as PtyStatus;
}

export const upgradeHeaders = {
	connection: "Upgrade",
	upgrade: "websocket",
	"sec-websocket-version": "13",
	"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

/** The status of a handshake. If it is 101, the connection is dropped. */
export function handshake(
	url: string,
	path: string,
	headers: Record<string, string> = upgradeHeaders,
): Promise<{ status: number; headers: IncomingMessage["headers"]; body: string }> {
	return new Promise((resolve, reject) => {
		const request = httpRequest(`${url}${path}`, { headers });
		request.on("response", (response) => {
			let body = "";
			response.on("data", (chunk: Buffer) => {
				body += chunk.toString();
			});
			response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
		});
		request.on("upgrade", (response, socket) => {
			socket.destroy();
			resolve({ status: 101, headers: response.headers, body: "" });
		});
		request.on("error", reject);
		request.end();
	});
}
