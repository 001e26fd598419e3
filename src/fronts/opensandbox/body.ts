/** Request bodies as execd reads them: the first JSON value, whatever is said about its type and whatever follows it. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { limits } from "../../protocol/messages.ts";
import { endOfFirstValue, hasTooManyValues } from "../json-scan.ts";
import { ExecdError } from "./answers.ts";

/** What the routes have that start a program: a body may hold as much as one can be started with. */
export const startBody: { readonly bodyLimit: number } = { bodyLimit: limits.startBytes };

/** What the routes have that read their body as it comes, in a scope of `streamedBodies`: nothing of it is held for them. */
export const streamedBody: { readonly bodyLimit: number } = { bodyLimit: 1 };

/** Leaves the bodies of a scope's routes to them, unread. */
export function streamedBodies(scope: FastifyInstance): void {
	scope.removeAllContentTypeParsers();
	scope.addContentTypeParser("*", (_request, _body, done) => done(null));
}

/** How long the rest of a body is read that nobody wants, so that its client gets to read the answer. */
const LINGER_MS = 5_000;

/** Once the answer is sent: a client that still sends could not read it if the connection were closed on it. */
export function passOverRest({ raw: request }: FastifyRequest, { raw: response }: FastifyReply): void {
	response.once("finish", () => {
		if (request.complete || request.destroyed) return;
		request.unpipe();
		request.resume();
		const timer = setTimeout(() => request.destroy(), LINGER_MS);
		request.once("close", () => clearTimeout(timer));
	});
}

/** Reads `request.body`, a buffer. An empty one stands for all defaults where a route allows it. */
export function readBody(raw: unknown, options: { readonly mayBeEmpty: boolean }): Body {
	const value = readValue(raw);
	if (value === undefined && options.mayBeEmpty) return new Body({});
	return asBody(value);
}

/** The first value of a body, whatever it is; undefined for an empty one. */
export function readValue(raw: unknown): unknown {
	const text = Buffer.isBuffer(raw) ? raw.toString("utf8") : "";
	if (text.length > limits.bodyBytes && hasTooManyValues(text)) throw refusal("the request body has too many values");
	const value = firstValue(text);
	if (value === undefined && text.trim() !== "") throw refusal("the request body is not JSON");
	return value;
}

/** An object, or null, which is one without members. */
export function asBody(value: unknown): Body {
	return new Body(asObject(value));
}

export function asObject(value: unknown): object {
	if (value === undefined) throw refusal("the request body is empty");
	if (typeof value !== "object" || Array.isArray(value)) throw refusal("the request body must be a JSON object");
	return value ?? {};
}

/** The members of an object; names match in upper and lower case, null is the same as not given, others are ignored. */
export class Body {
	readonly #members = new Map<string, unknown>();

	constructor(members: object) {
		for (const [name, value] of Object.entries(members)) {
			if (value !== null) this.#members.set(name.toLowerCase(), value);
		}
	}

	/** An empty one for what is not given. */
	string(name: string): string {
		const value = this.#members.get(name) ?? "";
		if (typeof value === "string") return value;
		throw refusal(`${name} must be a string`);
	}

	boolean(name: string): boolean {
		const value = this.#members.get(name) ?? false;
		if (typeof value === "boolean") return value;
		throw refusal(`${name} must be true or false`);
	}

	integer(name: string, least: number, most: number = Number.MAX_SAFE_INTEGER): number | undefined {
		const value = this.#members.get(name);
		if (value === undefined) return undefined;
		if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
		throw refusal(`${name} must be a whole number from ${least} to ${most}`);
	}

	/** One without members for what is not given. */
	object(name: string): Body {
		const value = this.#members.get(name) ?? {};
		if (typeof value === "object" && !Array.isArray(value)) return new Body(value ?? {});
		throw refusal(`${name} must be an object`);
	}

	/** Names with values, in the case they were written in. */
	strings(name: string): Readonly<Record<string, string>> {
		const value = this.#members.get(name) ?? {};
		if (typeof value !== "object" || value === null || Array.isArray(value)) throw refusal(`${name} must be an object`);
		return Object.fromEntries(
			Object.entries(value).map(([key, text]) => {
				if (text === null) return [key, ""];
				if (typeof text === "string") return [key, text];
				throw refusal(`the values of ${name} must be strings`);
			}),
		);
	}
}

export function refusal(message: string): ExecdError {
	return new ExecdError(400, "INVALID_REQUEST_BODY", message);
}

/** Undefined where there is none. */
function firstValue(text: string): unknown {
	return parse(text) ?? parse(text.slice(0, endOfFirstValue(text)));
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return undefined;
	}
}
