/**
 * The Model Context Protocol over a process's own pipes: each message goes to the server as a request of its own, and
 * what comes back is written out, a line each. It knows nothing of the tools, and keeps nothing: when it ends, programs
 * and their output are where they were.
 */

import { createInterface } from "node:readline";
import type { Address } from "../client/index.ts";
import { mcpPath, surroundingsKey } from "../protocol/mcp.ts";

/** Messages that are dealt with at a time; the next is read when one of them is answered. */
const MAX_UNDER_WAY = 100;
/** What JSON-RPC has for "it is our side that fails". */
const INTERNAL_ERROR = -32603;
const PARSE_ERROR = -32700;
/** The request whose answer has no end. */
const LISTEN = "subscriptions/listen";

/** Of the newer era: which it is, and what of the body a header repeats. */
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

type BridgeOptions = {
	readonly input: NodeJS.ReadableStream;
	readonly write: (line: string) => Promise<void>;
	/** Where the server is now; starts one if none is there. */
	readonly locate: () => Promise<Address>;
	readonly workspace: string | undefined;
	/** Where the conversation takes place, for programs that it starts. */
	readonly surroundings: Readonly<Record<string, unknown>>;
};

type Id = string | number;
type Message = {
	readonly id?: Id | null;
	readonly method?: string;
	readonly params?: Readonly<Record<string, unknown>> & { readonly _meta?: Readonly<Record<string, unknown>> };
	readonly result?: { readonly protocolVersion?: unknown };
};

/**
 * Resolves when the input has ended and what was asked is answered: a client that has gone no longer asks, but one that
 * writes all it wants at once still reads. No tool takes longer than its own time limit.
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
	/** Of the older era, as it was agreed on when the conversation began. */
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
			return this.#fail(null, PARSE_ERROR, "a message is one line of JSON");
		}
		// Over HTTP nobody is told: the request ends.
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
			await this.#fail(id, INTERNAL_ERROR, `the way to the server is lost, and programs go on: ${reason}`);
		} finally {
			if (id !== undefined && id !== null) this.#waiting.delete(id);
		}
	}

	async #exchange(message: Message, signal: AbortSignal): Promise<void> {
		const { locate, workspace, surroundings } = this.#options;
		const { url, token, fetch = globalThis.fetch } = await locate();
		const query = workspace === undefined ? "" : `?workspace=${encodeURIComponent(workspace)}`;
		const headers = new Headers({
			"content-type": "application/json",
			accept: "application/json, text/event-stream",
			...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
			...this.#standardHeaders(message),
		});
		const body = JSON.stringify(message.method === "tools/call" ? withMeta(message, surroundings) : message);
		const response = await fetch(`${url}${mcpPath}${query}`, { method: "POST", headers, body, signal });
		const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
		let isAnswered = message.id === undefined || message.id === null;
		if (isStream) {
			for await (const data of eventsOf(response)) isAnswered = (await this.#pass(data)) === message.id || isAnswered;
		} else isAnswered = (await this.#passWhole(message, response)) || isAnswered;
		if (!isAnswered) throw new Error("the connection broke off");
	}

	/** Whether there was an answer. */
	async #passWhole({ id }: Message, response: Response): Promise<boolean> {
		const text = await response.text();
		if (text === "") return false;
		const answer = JSON.parse(text) as { jsonrpc?: unknown; error?: { message?: string } } | unknown[];
		if (Array.isArray(answer) || answer.jsonrpc !== undefined) await this.#pass(text);
		// The server's door speaks for all protocols, in its own words.
		else if (id !== undefined)
			await this.#fail(id, INTERNAL_ERROR, answer.error?.message ?? `status ${response.status}`);
		return true;
	}

	/** The id of what it answers; undefined if it is no answer. */
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

	/** What HTTP repeats of a body, so that nobody on the way has to read that. */
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

function withMeta(message: Message, surroundings: BridgeOptions["surroundings"]): Message {
	const { params = {} } = message;
	return { ...message, params: { ...params, _meta: { ...params._meta, [surroundingsKey]: surroundings } } };
}

/** As it is, if a header can carry it. */
function headerText(text: string): string {
	const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
	return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** The data of each event that has some. */
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
