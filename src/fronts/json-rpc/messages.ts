/** Codex's messages: JSON-RPC 2.0 without the `jsonrpc` member. */

import { scanJson } from "../../core/json-scan.ts";
import { RpcError, rpcCodes } from "./errors.ts";

/** A message of a client. `id` is its JSON text, so that the answer repeats its type and all its digits. */
export type Message =
	| { readonly kind: "request"; readonly id: string; readonly method: string; readonly params: unknown }
	| { readonly kind: "notification"; readonly method: string }
	/** An answer. We send no requests, so it is ignored. */
	| { readonly kind: "answer" }
	| { readonly kind: "malformed"; readonly fault: string };

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function decodeMessage(bytes: Uint8Array): Message {
	let text: string;
	try {
		text = utf8.decode(bytes);
	} catch {
		return malformed("not valid UTF-8");
	}
	return parseMessage(text);
}

export function parseMessage(text: string): Message {
	const scan = scanJson(text);
	if (scan.fault !== undefined) return malformed(scan.fault);
	const value = parse(text);
	if (value instanceof SyntaxError) return malformed(value.message);
	if (typeof value !== "object" || value === null || Array.isArray(value)) return malformed("expected an object");
	const message = value as Readonly<Record<string, unknown>>;
	if (Object.hasOwn(message, "id") && !isId(message.id, scan.id)) return malformed("an id is a string or an integer");
	if (Object.hasOwn(message, "method")) return call(message, scan.id);
	return isAnswer(message) ? { kind: "answer" } : malformed("neither a request, a notification nor an answer");
}

export function result(id: string, value: unknown): string {
	return `{"id":${id},"result":${JSON.stringify(value)}}`;
}

export function failure(id: string, { code, message }: RpcError): string {
	return `{"error":${JSON.stringify({ code, message })},"id":${id}}`;
}

/** Answers a message that has no readable id. */
export function malformedAnswer(source: string, fault: string): string {
	return failure("-1", new RpcError(rpcCodes.invalidRequest, `failed to parse ${source}: ${fault}`));
}

export function notification(method: string, params: object): string {
	return `{"method":"${method}","params":${JSON.stringify(params)}}`;
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		return error;
	}
}

function call(message: Readonly<Record<string, unknown>>, id: string | undefined): Message {
	const { method, params } = message;
	if (typeof method !== "string") return malformed("a method is a string");
	if (id === undefined) return { kind: "notification", method };
	if (!isTrace(message.trace)) return malformed("a trace has a traceparent and a tracestate, which are strings");
	return { kind: "request", id, method, params };
}

/** Checks a W3C trace context. We do not use it. */
function isTrace(trace: unknown): boolean {
	if (trace === undefined || trace === null) return true;
	if (typeof trace !== "object") return false;
	const { traceparent = null, tracestate = null } = trace as Readonly<Record<string, unknown>>;
	return [traceparent, tracestate].every((each) => each === null || typeof each === "string");
}

const smallestId = -(2n ** 63n);
const largestId = 2n ** 63n - 1n;

function isId(value: unknown, text: string | undefined): boolean {
	if (typeof value === "string") return true;
	if (typeof value !== "number" || text === undefined || !/^-?\d{1,19}$/.test(text)) return false;
	const exact = BigInt(text);
	return exact >= smallestId && exact <= largestId;
}

function isAnswer(message: Readonly<Record<string, unknown>>): boolean {
	if (!Object.hasOwn(message, "id")) return false;
	if (Object.hasOwn(message, "result")) return true;
	const { code, message: text } = (message.error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
	return Number.isInteger(code) && typeof text === "string";
}

function malformed(fault: string): Message {
	return { kind: "malformed", fault };
}
