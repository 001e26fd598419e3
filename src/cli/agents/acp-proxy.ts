/**
 * A proxy between an editor and its agent, which speak the Agent Client Protocol: JSON lines over pipes. It serves the
 * agent's terminal requests itself and announces terminal support for the editor. All other messages pass through byte
 * by byte.
 */

import type { Readable } from "node:stream";
import { type ErrorCode, HawserError } from "../../client/index.ts";
import type { AcpTerminals, CreateTerminal } from "./acp-terminals.ts";

/**
 * Maximum message size: larger than any embedded picture.
 * @limit a message between an editor and its agent (`hawser acp`) | the conversation ends
 */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/**
 * Pending terminal requests.
 * @limit unanswered requests for terminals in `hawser acp` | the next is refused
 */
const MAX_UNDER_WAY = 1000;

/** The standard codes of JSON-RPC, and the protocol's "resource not found". */
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const NOT_FOUND = -32002;
/** Server errors caused by the agent's parameters. */
const CODES: Partial<Record<ErrorCode, number>> = {
	invalid_argument: INVALID_PARAMS,
	session_not_found: NOT_FOUND,
};
const NEWLINE = 0x0a;

const METHODS: ReadonlySet<string> = new Set(
	["create", "output", "wait_for_exit", "kill", "release"].map((name) => `terminal/${name}`),
);

/** One end of the proxy. `write` takes whole lines. */
type Peer = { readonly input: Readable; readonly write: (line: Uint8Array | string) => Promise<void> };

type Fields = Readonly<Record<string, unknown>>;
type Message = { readonly id?: string | number | null; readonly method?: string; readonly params?: unknown };
type TerminalRequest = Message & { readonly id: string | number; readonly method: string };

/** A request that the proxy rejects. */
class Refused extends Error {
	readonly code: number;

	constructor(message: string, code: number = INVALID_PARAMS) {
		super(message);
		this.code = code;
	}
}

export class AcpProxy {
	readonly #editor: Peer;
	readonly #agent: Peer;
	readonly #terminals: AcpTerminals;
	#underWay = 0;

	constructor(editor: Peer, agent: Peer, terminals: AcpTerminals) {
		this.#editor = editor;
		this.#agent = agent;
		this.#terminals = terminals;
	}

	/** Resolves when the editor's output ends. */
	async passToAgent(): Promise<void> {
		for await (const line of linesOf(this.#editor.input)) await this.#agent.write(withTerminals(line));
	}

	/** Resolves when the agent's output ends. */
	async passToEditor(): Promise<void> {
		for await (const line of linesOf(this.#agent.input)) {
			const question = terminalQuestion(line);
			// Not awaited: waiting for an exit takes as long as the program runs.
			if (question) void this.#answer(question);
			else await this.#editor.write(this.#withoutTerminals(line));
		}
	}

	async #answer({ id, method, params = {} }: TerminalRequest): Promise<void> {
		const reply = (answer: Fields) => this.#agent.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
		this.#underWay++;
		try {
			if (this.#underWay > MAX_UNDER_WAY)
				throw new Error(`too many pending terminal requests (limit ${MAX_UNDER_WAY})`);
			await reply({ result: await this.#handleTerminalRequest(method, params) });
		} catch (error) {
			await reply({ error: { code: codeOf(error), message: error instanceof Error ? error.message : String(error) } });
		} finally {
			this.#underWay--;
		}
	}

	async #handleTerminalRequest(method: string, params: unknown): Promise<Fields> {
		if (!METHODS.has(method)) throw new Refused(`unknown method ${method}`, METHOD_NOT_FOUND);
		if (!isFields(params)) throw new Refused("params: expected an object");
		if (method === "terminal/create") return this.#terminals.create(checked(params));
		const terminalId = text(params, "terminalId");
		switch (method) {
			case "terminal/output":
				return this.#terminals.output(terminalId);
			case "terminal/wait_for_exit":
				return this.#terminals.waitForExit(terminalId);
			case "terminal/kill":
				await this.#terminals.kill(terminalId);
				return {};
			default:
				await this.#terminals.release(terminalId);
				return {};
		}
	}

	/** The editor does not know our terminals, so a reference to one becomes the command that shows it. */
	#withoutTerminals(line: Buffer): Buffer | string {
		if (!line.includes('"terminalId"')) return line;
		let isChanged = false;
		const message: unknown = parsed(line, (_key, value: unknown) => {
			const { type, terminalId } = (value ?? {}) as { type?: unknown; terminalId?: unknown };
			if (type !== "terminal" || typeof terminalId !== "string" || !this.#terminals.has(terminalId)) return value;
			isChanged = true;
			return { type: "content", content: { type: "text", text: `hawser attach ${terminalId}` } };
		});
		return isChanged ? `${JSON.stringify(message)}\n` : line;
	}
}

/** Adds terminal support to the capabilities in the editor's initialize request. */
function withTerminals(line: Buffer): Buffer | string {
	if (!line.includes('"initialize"')) return line;
	const message = parsed(line) as Message | undefined;
	if (message?.method !== "initialize") return line;
	const params = isFields(message.params) ? message.params : {};
	const clientCapabilities = { ...(params.clientCapabilities as Fields | undefined), terminal: true };
	return `${JSON.stringify({ ...message, params: { ...params, clientCapabilities } })}\n`;
}

function terminalQuestion(line: Buffer): TerminalRequest | undefined {
	if (!line.includes('"terminal/')) return undefined;
	const message = parsed(line) as Message | undefined;
	const isOurs = message?.method?.startsWith("terminal/") && message.id !== undefined && message.id !== null;
	return isOurs ? (message as TerminalRequest) : undefined;
}

/** Undefined if it is not JSON; the other end reports that. */
function parsed(line: Buffer, reviver?: (key: string, value: unknown) => unknown): unknown {
	try {
		return JSON.parse(line.toString(), reviver);
	} catch {
		return undefined;
	}
}

function codeOf(error: unknown): number {
	if (error instanceof Refused) return error.code;
	return (error instanceof HawserError && CODES[error.code]) || INTERNAL_ERROR;
}

function checked(params: Fields): CreateTerminal {
	const { args, env, cwd, outputByteLimit } = params;
	if (text(params, "command") === "") throw new Refused("command: must not be empty");
	text(params, "sessionId");
	if (args != null && !(Array.isArray(args) && args.every((arg) => typeof arg === "string")))
		throw new Refused("args: expected an array of strings");
	if (env != null && !(Array.isArray(env) && env.every(isVariable)))
		throw new Refused("env: expected an array of objects with name and value, which are strings");
	if (cwd != null && typeof cwd !== "string") throw new Refused("cwd: expected a string");
	if (outputByteLimit != null && !isCount(outputByteLimit))
		throw new Refused("outputByteLimit: expected a non-negative integer");
	return params as CreateTerminal;
}

function isVariable(pair: unknown): boolean {
	return isFields(pair) && typeof pair.name === "string" && typeof pair.value === "string";
}

function isCount(value: unknown): boolean {
	return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(params: Fields, name: string): string {
	const value = params[name];
	if (typeof value === "string") return value;
	throw new Refused(`${name}: expected a string`);
}

/** Yields lines with their newlines, and an unterminated rest. */
async function* linesOf(input: Readable): AsyncGenerator<Buffer, void, void> {
	let parts: Buffer[] = [];
	let length = 0;
	for await (const chunk of input) {
		let rest = chunk as Buffer;
		for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
			yield Buffer.concat([...parts, rest.subarray(0, end + 1)]);
			rest = rest.subarray(end + 1);
			parts = [];
			length = 0;
		}
		if (rest.byteLength === 0) continue;
		parts.push(rest);
		length += rest.byteLength;
		if (length > MAX_LINE_BYTES) throw new Error(`message exceeds ${MAX_LINE_BYTES} bytes`);
	}
	if (length > 0) yield Buffer.concat(parts);
}
