/**
 * A scripted language model on loopback, in the four protocols that coding agents speak. The words of a prompt choose
 * its reply:
 *
 * - `shell NAME`: a command that creates the file NAME
 * - `edit NAME`: a tool that writes the file NAME
 * - `question`: a question with two options
 * - `slow`: a text that ends once `release` is called
 * - `error`: the request is refused
 * - other words, and results of tools: a text
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export const QUESTION = "Which database should I use?";
export const OPTIONS: readonly string[] = ["SQLite", "Postgres"];
export const FINAL_TEXT = "All done.";

type Json = Readonly<Record<string, unknown>>;

/** The content of a request, in the words of none of the protocols. */
type Turn = {
	readonly prompt: string;
	/** The result of a tool, which ends the turn. */
	readonly result: string | undefined;
	/** Requests without tools are for titles and the like. */
	readonly tools: readonly string[];
	/** A schema that the reply must fit. */
	readonly schema?: unknown;
};

type Reply =
	| { readonly kind: "text"; readonly text: string; readonly isHeld?: true }
	| { readonly kind: "tool"; readonly name: string; readonly args: Json }
	| { readonly kind: "error" };

type Protocol = {
	readonly path: RegExp;
	read(body: Json): Turn;
	/** Writes the reply as server-sent events. */
	write?(say: Say, reply: Exclude<Reply, { kind: "error" }>, body: Json): Promise<void>;
	/** The reply as one answer. */
	whole?(reply: Exclude<Reply, { kind: "error" }>): Json;
};

/** Writes one server-sent event. */
type Say = {
	(data: unknown, event?: string): void;
	pieces(reply: { readonly text: string; readonly isHeld?: true }): AsyncIterable<string>;
};

export class ScriptedModel {
	readonly #server: Server;
	readonly #held = new Set<() => void>();
	/** Results of tools, in order. */
	readonly results: string[] = [];

	static async start(): Promise<ScriptedModel> {
		const model = new ScriptedModel();
		model.#server.listen(0, "127.0.0.1");
		await once(model.#server, "listening");
		return model;
	}

	private constructor() {
		this.#server = createServer((request, response) => {
			this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
		});
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	/** Slow replies that have begun and are not released. */
	get held(): number {
		return this.#held.size;
	}

	/** Ends slow replies that have begun. */
	release(): void {
		for (const end of [...this.#held]) end();
	}

	close(): void {
		this.#server.close();
		this.#server.closeAllConnections();
	}

	async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const path = new URL(request.url ?? "/", this.url).pathname;
		const content = await text(request);
		const protocol = protocols.find((one) => one.path.test(path));
		if (!protocol || request.method !== "POST") return sendOther(response, path);
		const body = JSON.parse(content) as Json;
		const turn = protocol.read(body);
		const isResult = turn.result !== undefined && turn.tools.length > 0;
		if (isResult) this.results.push(turn.result);
		const reply = replyTo(turn);
		if (reply.kind === "error") return sendJson(response, 400, refusal);
		if (protocol.whole) return sendJson(response, 200, protocol.whole(reply));
		await protocol.write?.(this.#stream(response), reply, body);
		response.end();
	}

	#stream(response: ServerResponse): Say {
		response.writeHead(200, { "content-type": "text/event-stream" });
		const write = (data: unknown, event?: string): void => {
			const line = typeof data === "string" ? data : JSON.stringify(data);
			response.write(`${event ? `event: ${event}\n` : ""}data: ${line}\n\n`);
		};
		const held = this.#held;
		async function* pieces({ text: whole, isHeld }: { readonly text: string; readonly isHeld?: true }) {
			yield whole;
			if (!isHeld) return;
			await new Promise<void>((resolve) => {
				const end = () => {
					held.delete(end);
					resolve();
				};
				held.add(end);
				response.on("close", end);
			});
			yield " That was all.";
		}
		return Object.assign(write, { pieces });
	}
}

const refusal = {
	error: { type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT", message: "scripted" },
};

function sendJson(response: ServerResponse, status: number, body: unknown): void {
	response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Lists of models, counts of tokens and telemetry. */
function sendOther(response: ServerResponse, path: string): void {
	if (path.endsWith("/models"))
		sendJson(response, 200, { object: "list", data: [{ id: "scripted", object: "model" }] });
	else if (/count_?tokens$/i.test(path)) sendJson(response, 200, { input_tokens: 1, totalTokens: 1 });
	else sendJson(response, 404, refusal);
}

function replyTo({ prompt, result, tools, schema }: Turn): Reply {
	if (schema !== undefined) return { kind: "text", text: JSON.stringify(sampleOf(schema)) };
	if (result !== undefined || tools.length === 0) return { kind: "text", text: FINAL_TEXT };
	const [, word = "", name = "file"] = /\b(shell|edit|question|slow|error)\b ?([\w./-]+)?/.exec(prompt) ?? [];
	if (word === "error") return { kind: "error" };
	if (word === "slow") return { kind: "text", text: "Thinking about it.", isHeld: true };
	const calls = { shell: shellCalls(name), edit: editCalls(name), question: questionCalls }[word] ?? {};
	const tool = tools.find((one) => one in calls);
	return tool ? { kind: "tool", name: tool, args: calls[tool] ?? {} } : { kind: "text", text: "Nothing to do." };
}

/** The arguments for each agent's tool, by its name. */
type Calls = Readonly<Record<string, Json>>;

function shellCalls(name: string): Calls {
	const command = `touch ${name}`;
	const asked = { sandbox_permissions: "require_escalated", justification: "May I create the file?" };
	const described = { command, description: "Create a file" };
	return {
		exec_command: { cmd: command, ...asked },
		shell_command: { command, ...asked },
		run_shell_command: described,
		Bash: described,
		bash: described,
	};
}

function editCalls(name: string): Calls {
	const content = "written by an agent\n";
	const patch = `*** Begin Patch\n*** Add File: ${name}\n+${content}*** End Patch\n`;
	return {
		apply_patch: { input: patch },
		exec_command: { cmd: `apply_patch <<'END'\n${patch}END\n` },
		write_file: { file_path: name, content },
		Write: { file_path: name, content },
		write: { filePath: name, content },
		create: { path: name, file_text: content },
	};
}

const options = OPTIONS.map((label) => ({ label, description: `Use ${label}` }));
const question = { question: QUESTION, header: "Database", options };
const database = { type: "string", title: "Database", enum: OPTIONS };

const questionCalls: Calls = {
	request_user_input: { questions: [{ id: "database", ...question }] },
	AskUserQuestion: { questions: [{ ...question, multiSelect: false }] },
	question: { questions: [{ ...question, multiple: false }] },
	ask_user: {
		// Gemini CLI, and Copilot CLI.
		questions: [{ ...question, type: "choice", multiSelect: false }],
		message: QUESTION,
		requestedSchema: { type: "object", properties: { database }, required: ["database"] },
	},
};

/** The smallest value that fits a schema: agents ask for such replies beside a turn. */
function sampleOf(schema: unknown): unknown {
	const { type, enum: values, properties } = schema as { type?: unknown; enum?: unknown[]; properties?: Json };
	if (values) return values[0];
	switch (String(Array.isArray(type) ? type[0] : type).toLowerCase()) {
		case "object":
			return Object.fromEntries(Object.entries(properties ?? {}).map(([key, value]) => [key, sampleOf(value)]));
		case "array":
			return [];
		case "boolean":
			return false;
		case "number":
		case "integer":
			return 0;
		default:
			return "scripted";
	}
}

type Part = Json & { readonly text?: string; readonly type?: string };

function textOf(content: unknown): string {
	if (typeof content === "string") return withoutContext(content);
	return ((content as readonly Part[] | undefined) ?? []).map((part) => withoutContext(part.text ?? "")).join("\n");
}

/** Agents put their additions to a prompt in tags. */
function withoutContext(prompt: string): string {
	return prompt.replace(/<([a-z_-]+)>[\s\S]*?<\/\1>/g, "");
}

type Named = { readonly name?: string };
const namesOf = (tools: unknown) => ((tools as readonly Named[] | undefined) ?? []).map(({ name }) => name ?? "");

/** The last message of the user, and the result of a tool if that came last. */
function turnOf<Message>(
	messages: readonly Message[],
	{ isResult, isUser, textOf: read }: Reader<Message>,
): Pick<Turn, "prompt" | "result"> {
	const last = messages.at(-1);
	const user = messages.findLast((message) => isUser(message) && !isResult(message));
	return {
		prompt: user === undefined ? "" : read(user),
		result: last !== undefined && isResult(last) ? JSON.stringify(last) : undefined,
	};
}

type Reader<Message> = {
	isResult(message: Message): boolean;
	isUser(message: Message): boolean;
	textOf(message: Message): string;
};

/** OpenAI's Responses: Codex. */
const responses: Protocol = {
	path: /\/responses$/,
	read({ input, tools }) {
		type Item = { readonly type?: string; readonly role?: string; readonly content?: unknown };
		const turn = turnOf(input as readonly Item[], {
			isResult: ({ type = "" }) => type.endsWith("_output"),
			isUser: ({ role }) => role === "user",
			textOf: ({ content }) => textOf(content),
		});
		return { ...turn, tools: namesOf(tools) };
	},
	async write(say, reply, { tools }) {
		const tell = (type: string, rest: Json) => say({ type, ...rest }, type);
		const id = randomUUID();
		tell("response.created", { response: { id, status: "in_progress", output: [] } });
		let item: Json;
		if (reply.kind === "tool") {
			const call = { id: `fc_${id}`, call_id: id, name: reply.name, status: "completed" };
			const isCustom = (tools as readonly Json[]).some(({ name, type }) => name === reply.name && type === "custom");
			item = isCustom
				? { type: "custom_tool_call", ...call, input: reply.args.input }
				: { type: "function_call", ...call, arguments: JSON.stringify(reply.args) };
		} else {
			const message = { type: "message", id: `msg_${id}`, role: "assistant" };
			tell("response.output_item.added", { output_index: 0, item: { ...message, status: "in_progress", content: [] } });
			let whole = "";
			for await (const delta of say.pieces(reply)) {
				whole += delta;
				tell("response.output_text.delta", { item_id: message.id, output_index: 0, content_index: 0, delta });
			}
			const content = [{ type: "output_text", text: whole, annotations: [] }];
			item = { ...message, status: "completed", content };
		}
		tell("response.output_item.done", { output_index: 0, item });
		const usage = {
			...{ input_tokens: 1, input_tokens_details: { cached_tokens: 0 } },
			...{ output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 },
		};
		tell("response.completed", { response: { id, status: "completed", output: [item], usage } });
	},
};

/** OpenAI's Chat Completions: opencode and Copilot CLI. */
const chat: Protocol = {
	path: /\/chat\/completions$/,
	read({ messages, tools }) {
		type Message = { readonly role: string; readonly content?: unknown };
		const turn = turnOf(messages as readonly Message[], {
			isResult: ({ role }) => role === "tool",
			isUser: ({ role }) => role === "user",
			textOf: ({ content }) => textOf(content),
		});
		const functions = (tools as readonly { function?: Named }[] | undefined) ?? [];
		return { ...turn, tools: functions.map((tool) => tool.function?.name ?? "") };
	},
	async write(say, reply, { model }) {
		const base = { id: randomUUID(), object: "chat.completion.chunk", created: 1, model };
		const chunk = (delta: Json, reason: string | null = null, rest: Json = {}) =>
			say({ ...base, choices: [{ index: 0, delta, finish_reason: reason }], ...rest });
		if (reply.kind === "tool") {
			const called = { name: reply.name, arguments: JSON.stringify(reply.args) };
			chunk({ role: "assistant", tool_calls: [{ index: 0, id: base.id, type: "function", function: called }] });
		} else for await (const content of say.pieces(reply)) chunk({ role: "assistant", content });
		const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
		chunk({}, reply.kind === "tool" ? "tool_calls" : "stop", { usage });
		say("[DONE]");
	},
};

/** Anthropic's Messages: Claude Code. */
const messages: Protocol = {
	path: /\/messages$/,
	read({ messages: all, tools }) {
		type Message = { readonly role: string; readonly content: unknown };
		const partsOf = ({ content }: Message) => (Array.isArray(content) ? (content as readonly Part[]) : []);
		const turn = turnOf(all as readonly Message[], {
			// A refused call and the next prompt come as one message, which is the user's.
			isResult: (message) =>
				partsOf(message).some(({ type }) => type === "tool_result") &&
				/^(?:\[Request interrupted[^\]]*\]|\s)*$/.test(textOf(partsOf(message))),
			isUser: ({ role }) => role === "user",
			textOf: ({ content }) => textOf(content),
		});
		return { ...turn, tools: namesOf(tools) };
	},
	async write(say, reply, { model }) {
		const tell = (type: string, rest: Json = {}) => say({ type, ...rest }, type);
		const isTool = reply.kind === "tool";
		const usage = { input_tokens: 1, output_tokens: 1 };
		const message = { id: randomUUID(), type: "message", role: "assistant", model, content: [], usage };
		tell("message_start", { message: { ...message, stop_reason: null, stop_sequence: null } });
		const block = isTool
			? { type: "tool_use", id: `toolu_${message.id}`, name: reply.name, input: {} }
			: { type: "text", text: "" };
		tell("content_block_start", { index: 0, content_block: block });
		const delta = (value: Json) => tell("content_block_delta", { index: 0, delta: value });
		if (isTool) delta({ type: "input_json_delta", partial_json: JSON.stringify(reply.args) });
		else for await (const piece of say.pieces(reply)) delta({ type: "text_delta", text: piece });
		tell("content_block_stop", { index: 0 });
		const end = { stop_reason: isTool ? "tool_use" : "end_turn", stop_sequence: null };
		tell("message_delta", { delta: end, usage });
		tell("message_stop");
	},
};

/** Google's Gemini API: Gemini CLI. */
const gemini: Protocol = {
	path: /:streamGenerateContent$/,
	read: readGemini,
	async write(say, reply) {
		if (reply.kind === "tool") {
			say(geminiAnswer([{ functionCall: { id: randomUUID(), name: reply.name, args: reply.args } }]));
		} else {
			for await (const piece of say.pieces(reply)) say(geminiAnswer([{ text: piece }], null));
			say(geminiAnswer([{ text: "" }]));
		}
	},
};

/** The same for what Gemini CLI asks beside a turn. */
const geminiWhole: Protocol = {
	path: /:generateContent$/,
	read: readGemini,
	whole: (reply) => geminiAnswer([{ text: reply.kind === "text" ? reply.text : FINAL_TEXT }]),
};

function readGemini({ contents, tools, generationConfig }: Json): Turn {
	type Content = { readonly role?: string; readonly parts?: readonly Part[] };
	type Declared = { readonly functionDeclarations?: readonly Named[] };
	const turn = turnOf(contents as readonly Content[], {
		isResult: ({ parts = [] }) => parts.some(({ functionResponse }) => functionResponse),
		isUser: ({ role }) => role === "user",
		textOf: ({ parts }) => textOf(parts),
	});
	const declared = (tools as readonly Declared[] | undefined) ?? [];
	const names = declared.flatMap((one) => namesOf(one.functionDeclarations));
	return { ...turn, tools: names, schema: schemaOf(generationConfig) };
}

function schemaOf(config: unknown): unknown {
	const { responseJsonSchema, responseSchema } = (config ?? {}) as Json;
	return responseJsonSchema ?? responseSchema;
}

function geminiAnswer(parts: readonly Json[], finishReason: string | null = "STOP"): Json {
	const end = finishReason === null ? {} : { finishReason };
	const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
	return {
		candidates: [{ index: 0, content: { role: "model", parts }, ...end }],
		usageMetadata,
		responseId: randomUUID(),
	};
}

const protocols: readonly Protocol[] = [responses, chat, messages, gemini, geminiWhole];
