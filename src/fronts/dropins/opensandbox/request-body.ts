/** Parses request bodies as execd does: the first JSON value, whatever the content type and whatever follows. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { limits } from "../../../api/messages.ts";
import { endOfFirstValue, excessOf } from "../../../core/json-scan.ts";
import { ExecdError } from "./errors.ts";

/** Route option for bodies that start a program: limited as starts are. */
export const startBody: { readonly bodyLimit: number } = { bodyLimit: limits.startBytes };

/** Route option for bodies read as a stream, in a scope of `streamedBodies`: nothing is buffered. */
export const streamedBody: { readonly bodyLimit: number } = { bodyLimit: 1 };

/** Leaves the bodies of a scope's routes unread, for the routes to stream. */
export function streamedBodies(scope: FastifyInstance): void {
	scope.removeAllContentTypeParsers();
	scope.addContentTypeParser("*", (_request, _body, done) => done(null));
}

/** Time to discard the rest of a request body after the answer, so that the client gets to read it. */
const LINGER_MS = 5_000;

/**
 * Discards the rest of the body after the answer is sent: closing the connection on a client that still sends could
 * destroy the answer.
 */
export function discardRest({ raw: request }: FastifyRequest, { raw: response }: FastifyReply): void {
	response.once("finish", () => {
		if (request.complete || request.destroyed) return;
		request.unpipe();
		request.resume();
		const timer = setTimeout(() => request.destroy(), LINGER_MS);
		request.once("close", () => clearTimeout(timer));
	});
}

/** Parses `request.body`, a buffer. If `mayBeEmpty`, an empty body selects all defaults. */
export function readBody(raw: unknown, options: { readonly mayBeEmpty: boolean }): Body {
	const value = readValue(raw);
	if (value === undefined && options.mayBeEmpty) return new Body({});
	return asBody(value);
}

/** The first JSON value of a body; undefined if the body is empty. */
export function readValue(raw: unknown): unknown {
	const text = Buffer.isBuffer(raw) ? raw.toString("utf8") : "";
	const fault = excessOf(text);
	if (fault !== undefined) throw refusal(`the request body has too many values: ${fault}`);
	const value = firstValue(text);
	if (value === undefined && text.trim() !== "") throw refusal("the request body is not JSON");
	return value;
}

/** An object; null counts as an empty one. */
export function asBody(value: unknown): Body {
	return new Body(asObject(value));
}

export function asObject(value: unknown): object {
	if (value === undefined) throw refusal("the request body is empty");
	if (typeof value !== "object" || Array.isArray(value)) throw refusal("the request body must be a JSON object");
	return value ?? {};
}

/** The members of an object. Names ignore case, null counts as absent, unknown members are ignored. */
export class Body {
	readonly #members = new Map<string, unknown>();

	constructor(members: object) {
		for (const [name, value] of Object.entries(members)) {
			if (value !== null) this.#members.set(name.toLowerCase(), value);
		}
	}

	/** Empty if absent. */
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

	/** Empty if absent. */
	object(name: string): Body {
		const value = this.#members.get(name) ?? {};
		if (typeof value === "object" && !Array.isArray(value)) return new Body(value ?? {});
		throw refusal(`${name} must be an object`);
	}

	/** Names keep their case. */
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

/** Undefined if there is none. */
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
