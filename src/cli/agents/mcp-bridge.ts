/**
 * The Model Context Protocol on stdin and stdout. Each message becomes an HTTP request to the server, and each response
 * is written as one line. The bridge has no state: when it ends, programs keep running.
 */

import { createInterface } from "node:readline";
import { environmentKey, mcpPath } from "../../api/mcp.ts";
import type { ServerAddress } from "../../client/index.ts";

/**
 * Messages handled at a time.
 * @limit unanswered messages of an agent in `hawser mcp` | the next is read after an answer
 */
const MAX_UNDER_WAY = 100;
/** Code of JSON-RPC for internal errors. */
const INTERNAL_ERROR = -32603;
const PARSE_ERROR = -32700;
/** A request whose response never ends. */
const LISTEN = "subscriptions/listen";

/** Newer protocol versions send the version in each request's `_meta`. */
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

type BridgeOptions = {
	readonly input: NodeJS.ReadableStream;
	readonly write: (line: string) => Promise<void>;
	/** Returns the server's current address; starts a server if none is running. */
	readonly locate: () => Promise<ServerAddress>;
	readonly workspace: string | undefined;
	/** Environment of this client, for programs that it starts. */
	readonly callerContext: Readonly<Record<string, unknown>>;
};

type Id = string | number;
type Message = {
	readonly id?: Id | null;
	readonly method?: string;
	readonly params?: Readonly<Record<string, unknown>> & { readonly _meta?: Readonly<Record<string, unknown>> };
	readonly result?: { readonly protocolVersion?: unknown };
};

/**
 * Resolves when stdin has ended and all requests are answered: a client may write all its requests at once and then
 * read. Every tool has its own time limit.
 */
export async function bridge(options: BridgeOptions): Promise<void> {
	const over = new AbortController();
	const underWay = new Set<Promise<void>>();
	const exchanges = new Exchanges(options, over.signal);
	for await (const line of createInterface({ input: options.input, crlfDelay: Number.POSITIVE_INFINITY })) {
		if (line.trim() === "") continue;
		const done = exchanges.take(line).finally(() => underWay.delete(done));
		underWay.add(done);
		if (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay);
	}
	over.abort();
	await Promise.all(underWay);
}

class Exchanges {
	readonly #options: BridgeOptions;
	readonly #over: AbortSignal;
	readonly #waiting = new Map<Id, AbortController>();
	/** The version negotiated by `initialize`, in older protocol versions. */
	#version: string | undefined;

	constructor(options: BridgeOptions, over: AbortSignal) {
		this.#options = options;
		this.#over = over;
	}

	async take(line: string): Promise<void> {
		let message: Message;
		try {
			message = JSON.parse(line) as Message;
		} catch {
			return this.#fail(null, PARSE_ERROR, "expected one JSON object per line");
		}
		// Canceling a request over HTTP means closing it.
		if (message.method === "notifications/cancelled")
			return this.#waiting.get(message.params?.requestId as Id)?.abort();
		const gone = new AbortController();
		const signal = message.method === LISTEN ? AbortSignal.any([gone.signal, this.#over]) : gone.signal;
		const { id } = message;
		if (id !== undefined && id !== null) this.#waiting.set(id, gone);
		try {
			await this.#exchange(message, signal);
		} catch (error) {
			if (signal.aborted || id === undefined) return;
			const reason = error instanceof Error ? error.message : String(error);
			await this.#fail(id, INTERNAL_ERROR, `lost the connection to the server (programs keep running): ${reason}`);
		} finally {
			if (id !== undefined && id !== null) this.#waiting.delete(id);
		}
	}

	async #exchange(message: Message, signal: AbortSignal): Promise<void> {
		const { locate, workspace, callerContext } = this.#options;
		const { url, token, fetch = globalThis.fetch } = await locate();
		const query = workspace === undefined ? "" : `?workspace=${encodeURIComponent(workspace)}`;
		const headers = new Headers({
			"content-type": "application/json",
			accept: "application/json, text/event-stream",
			...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
			...this.#standardHeaders(message),
		});
		const body = JSON.stringify(message.method === "tools/call" ? withMeta(message, callerContext) : message);
		const response = await fetch(`${url}${mcpPath}${query}`, { method: "POST", headers, body, signal });
		const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
		let isAnswered = message.id === undefined || message.id === null;
		if (isStream) {
			for await (const data of eventsOf(response)) isAnswered = (await this.#pass(data)) === message.id || isAnswered;
		} else isAnswered = (await this.#passWhole(message, response)) || isAnswered;
		if (!isAnswered) throw new Error("the connection was closed before the response");
	}

	/** Resolves with whether a response arrived. */
	async #passWhole({ id }: Message, response: Response): Promise<boolean> {
		const text = await response.text();
		if (text === "") return false;
		const answer = JSON.parse(text) as { jsonrpc?: unknown; error?: { message?: string } } | unknown[];
		if (Array.isArray(answer) || answer.jsonrpc !== undefined) await this.#pass(text);
		// An error from the HTTP layer, which is not JSON-RPC.
		else if (id !== undefined)
			await this.#fail(id, INTERNAL_ERROR, answer.error?.message ?? `status ${response.status}`);
		return true;
	}

	/** Writes a message. Returns the ID it answers; undefined if it is not a response. */
	async #pass(text: string): Promise<Id | null | undefined> {
		const message = JSON.parse(text) as Message;
		const { protocolVersion } = message.result ?? {};
		if (typeof protocolVersion === "string") this.#version = protocolVersion;
		await this.#options.write(`${JSON.stringify(message)}\n`);
		return message.id;
	}

	#fail(id: Id | null, code: number, message: string): Promise<void> {
		return this.#options.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
	}

	/** Headers that repeat parts of the body for proxies, as the protocol requires. */
	#standardHeaders({ method, params }: Message): Record<string, string> {
		const version = params?._meta?.[VERSION_KEY];
		if (typeof version !== "string")
			return this.#version === undefined ? {} : { "mcp-protocol-version": this.#version };
		const name = params?.name ?? params?.uri;
		return {
			"mcp-protocol-version": version,
			...(method === undefined ? {} : { "mcp-method": method }),
			...(typeof name === "string" ? { "mcp-name": headerText(name) } : {}),
		};
	}
}

function withMeta(message: Message, callerContext: BridgeOptions["callerContext"]): Message {
	const { params = {} } = message;
	return { ...message, params: { ...params, _meta: { ...params._meta, [environmentKey]: callerContext } } };
}

/** The text as it is, if it is valid in a header; else base64. */
function headerText(text: string): string {
	const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
	return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** Yields the data of each event that has any. */
async function* eventsOf(response: Response): AsyncGenerator<string, void, void> {
	if (!response.body) return;
	const decoder = new TextDecoder();
	let text = "";
	for await (const chunk of response.body) {
		text += decoder.decode(chunk as Uint8Array, { stream: true });
		const events = text.split(/\r?\n\r?\n/);
		text = events.pop() ?? "";
		for (const event of events) {
			const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
			const data = lines.map((line) => line.slice("data:".length).trimStart()).join("\n");
			if (data !== "") yield data;
		}
	}
}
