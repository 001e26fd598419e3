/** Decodes JSON parameters, member by member. Errors use the wording of Codex's server. */

import { RpcError, rpcCodes } from "./errors.ts";

/** Decodes a JSON value. `field` is its member name, for the error. */
export type Decode<T> = (value: unknown, field?: string) => T;

/** Longer text of the client is not repeated in an error. */
const SHOWN_LENGTH = 60;

/** A string. `expected` is the type named in the error. */
export function text(expected: string): Decode<string> {
	return (value, field) => {
		if (typeof value !== "string") throw mismatch(value, expected, field);
		return value;
	};
}

export const string: Decode<string> = text("a string");

export const boolean: Decode<boolean> = (value, field) => {
	if (typeof value !== "boolean") throw mismatch(value, "a boolean", field);
	return value;
};

/** An integer within bounds. `type` is its name in the real server. */
export function integer(type: string, least: number, most: number): Decode<number> {
	return (value, field) => {
		if (typeof value !== "number" || !Number.isInteger(value)) throw mismatch(value, type, field);
		if (value < least || value > most) throw refusal(`invalid value: ${described(value)}, expected ${type}`);
		return value;
	};
}

/** A non-negative integer. JSON loses the last digits of the largest, which does no harm. */
export const unsigned: Decode<number> = integer("u64", 0, 2 ** 64);

/** Base64 with padding. */
export const bytes: Decode<Buffer> = (value, field) => {
	const decoded = fromBase64(string(value, field));
	if (!decoded) throw refusal("invalid base64");
	return decoded;
};

/** One of several fixed strings. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Decode<Word> {
	return (value, field) => {
		const text = string(value, field);
		const word = words.find((known) => known === text);
		if (word !== undefined) return word;
		const expected = words.map((known) => `\`${known}\``).join(", ");
		throw refusal(`unknown variant \`${shortened(text)}\`, expected ${words.length > 1 ? "one of " : ""}${expected}`);
	};
}

export function list<T>(item: Decode<T>): Decode<readonly T[]> {
	return (value, field) => {
		if (!Array.isArray(value)) throw mismatch(value, "a sequence", field);
		return value.map((each: unknown) => item(each));
	};
}

/** An object with arbitrary names and values of one type. */
export function map<T>(item: Decode<T>): Decode<Readonly<Record<string, T>>> {
	return (value, field) => {
		if (!isObject(value)) throw mismatch(value, "a map", field);
		return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, item(each)]));
	};
}

/** A member that may be absent or null; then the result is `otherwise`. */
export function optional<T, Otherwise>(decode: Decode<T>, otherwise: Otherwise): Decode<T | Otherwise> {
	return (value, field) => (value === undefined || value === null ? otherwise : decode(value, field));
}

/** A member that may be absent but not null; if absent, the result is `otherwise`. */
export function unlessAbsent<T, Otherwise>(decode: Decode<T>, otherwise: Otherwise): Decode<T | Otherwise> {
	return (value, field) => (value === undefined ? otherwise : decode(value, field));
}

/** An object with these members. Others are ignored, because newer clients send more. */
export function object<Members extends Readonly<Record<string, Decode<unknown>>>>(
	members: Members,
): Decode<{ readonly [Name in keyof Members]: ReturnType<Members[Name]> }> {
	return (value, field) => {
		if (!isObject(value)) throw mismatch(value, "an object", field);
		const decoded = Object.entries(members).map(([name, decode]) => [
			name,
			decode(Object.hasOwn(value, name) ? value[name] : undefined, name),
		]);
		return Object.fromEntries(decoded);
	};
}

/** Parameters of a method without any. */
export const nothing: Decode<void> = (value) => {
	if (value === undefined || value === null) return;
	if (!isObject(value) || Object.keys(value).length > 0) throw mismatch(value, "no parameters");
};

/** The bytes of canonical base64 with padding, else undefined. Node would decode other text to some bytes too. */
export function fromBase64(text: string): Buffer | undefined {
	const decoded = Buffer.from(text, "base64");
	return decoded.toString("base64") === text ? decoded : undefined;
}

export function refusal(message: string): RpcError {
	return new RpcError(rpcCodes.invalidParams, message);
}

function mismatch(value: unknown, expected: string, field?: string): RpcError {
	if (value === undefined && field !== undefined) return refusal(`missing field \`${field}\``);
	return refusal(`invalid type: ${described(value)}, expected ${expected}`);
}

function described(value: unknown): string {
	if (Array.isArray(value)) return "sequence";
	switch (typeof value) {
		case "string":
			return `string ${JSON.stringify(shortened(value))}`;
		case "boolean":
			return `boolean \`${value}\``;
		case "number":
			return `${Number.isInteger(value) ? "integer" : "floating point"} \`${value}\``;
		default:
			return value === undefined || value === null ? "null" : "map";
	}
}

function shortened(text: string): string {
	return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
