/**
 * Stands between an editor and its agent, which speak the Agent Client Protocol over pipes, a line of JSON each. What
 * the agent asks about terminals is answered here; the editor is said to have them. Everything else passes as it is,
 * byte by byte.
 */

import type { Readable } from "node:stream";
import type { AcpTerminals, CreateTerminal } from "./acp-terminals.ts";

/** One message: more than any picture in one, and less than memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Questions about terminals that wait for an answer; the next is refused. */
const MAX_UNDER_WAY = 1000;

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const NEWLINE = 0x0a;

/** One of the two: what it says, and how something is said to it, a whole line at a time. */
export type Side = { readonly input: Readable; readonly write: (line: Uint8Array | string) => Promise<void> };

type Fields = Readonly<Record<string, unknown>>;
type Message = { readonly id?: string | number | null; readonly method?: string; readonly params?: Fields };
type Question = Message & { readonly id: string | number; readonly method: string };

export class AcpProxy {
	readonly #editor: Side;
	readonly #agent: Side;
	readonly #terminals: AcpTerminals;
	#underWay = 0;

	constructor(editor: Side, agent: Side, terminals: AcpTerminals) {
		this.#editor = editor;
		this.#agent = agent;
		this.#terminals = terminals;
	}

	/** Resolves when the editor says nothing more. */
	async passToAgent(): Promise<void> {
		for await (const line of linesOf(this.#editor.input)) await this.#agent.write(withTerminals(line));
	}

	/** Resolves when the agent says nothing more. */
	async passToEditor(): Promise<void> {
		for await (const line of linesOf(this.#agent.input)) {
			const question = terminalQuestion(line);
			// Some take as long as a program.
			if (question) void this.#answer(question);
			else await this.#editor.write(this.#withoutTerminals(line));
		}
	}

	async #answer({ id, method, params = {} }: Question): Promise<void> {
		const reply = (answer: Fields) => this.#agent.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
		this.#underWay++;
		try {
			if (this.#underWay > MAX_UNDER_WAY) throw new Error(`more than ${MAX_UNDER_WAY} questions wait for an answer`);
			await reply({ result: await this.#ask(method, params) });
		} catch (error) {
			const code = error instanceof TypeError ? INVALID_PARAMS : INTERNAL_ERROR;
			await reply({ error: { code, message: error instanceof Error ? error.message : String(error) } });
		} finally {
			this.#underWay--;
		}
	}

	async #ask(method: string, params: Fields): Promise<Fields> {
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
			case "terminal/release":
				await this.#terminals.release(terminalId);
				return {};
			default:
				throw new TypeError(`there is no method ${method}`);
		}
	}

	/** An editor does not know our terminals: where one should be shown, it is told how to see it. */
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

/** What an editor says about itself first, with terminals that it need not have. */
function withTerminals(line: Buffer): Buffer | string {
	if (!line.includes('"initialize"')) return line;
	const message = parsed(line) as Message | undefined;
	if (message?.method !== "initialize") return line;
	const { params = {} } = message;
	const clientCapabilities = { ...(params.clientCapabilities as Fields | undefined), terminal: true };
	return `${JSON.stringify({ ...message, params: { ...params, clientCapabilities } })}\n`;
}

function terminalQuestion(line: Buffer): Question | undefined {
	if (!line.includes('"terminal/')) return undefined;
	const message = parsed(line) as Message | undefined;
	const isOurs = message?.method?.startsWith("terminal/") && message.id !== undefined && message.id !== null;
	return isOurs ? (message as Question) : undefined;
}

/** Undefined for what is no JSON: it is for the other side to say so. */
function parsed(line: Buffer, reviver?: (key: string, value: unknown) => unknown): unknown {
	try {
		return JSON.parse(line.toString(), reviver);
	} catch {
		return undefined;
	}
}

function checked(params: Fields): CreateTerminal {
	text(params, "command");
	text(params, "sessionId");
	const { args, env, cwd } = params;
	if (args != null && !(Array.isArray(args) && args.every((arg) => typeof arg === "string")))
		throw new TypeError("args: expected texts");
	if (env != null && !(Array.isArray(env) && env.every((pair) => typeof pair?.name === "string")))
		throw new TypeError("env: expected names and values");
	if (cwd != null && typeof cwd !== "string") throw new TypeError("cwd: expected a text");
	return params as CreateTerminal;
}

function text(params: Fields, name: string): string {
	const value = params[name];
	if (typeof value === "string") return value;
	throw new TypeError(`${name}: expected a text`);
}

/** Each with its newline, and the rest without. */
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
		if (length > MAX_LINE_BYTES) throw new Error(`a message has more than ${MAX_LINE_BYTES} bytes`);
	}
	if (length > 0) yield Buffer.concat(parts);
}
