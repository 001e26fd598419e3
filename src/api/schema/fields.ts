/** Building blocks of the API's schemas: JSON Schema with names and documentation, and the fields that many messages share. */

import { idPattern } from "../../words/ids.ts";
import { PRINTABLE } from "../../words/printable.ts";
import { limits } from "../messages.ts";

/**
 * A JSON Schema. `title` is the name of the type in TypeScript, Python and OpenAPI, `description` documents that type,
 * `doc` documents the field that has the schema, and `expected` completes the error "FIELD: must be …" of a pattern.
 */
export type Schema = {
	readonly title?: string;
	readonly description?: string;
	readonly doc?: string;
	readonly expected?: string;
	/** Set by `optional`; removed when the field becomes part of an object. */
	readonly isOptional?: true;
	readonly [keyword: string]: unknown;
};

export type Fields = Readonly<Record<string, Schema>>;

/** Documents a field. */
export function doc(text: string, schema: Schema): Schema {
	return { ...schema, doc: text };
}

export function optional(schema: Schema): Schema {
	return { ...schema, isOptional: true };
}

export function nullable(schema: Schema): Schema {
	const { anyOf, title } = schema;
	return { anyOf: [...(Array.isArray(anyOf) && title === undefined ? anyOf : [schema]), { type: "null" }] };
}

export function literal(value: string | number | boolean): Schema {
	return { const: value };
}

/** One of these values. */
export function literals(...values: readonly (string | number)[]): Schema {
	return { anyOf: values.map(literal) };
}

/** One of these values, each with its documentation. */
export function choices(values: Readonly<Record<string, string>>): Schema {
	return { anyOf: Object.entries(values).map(([value, text]) => (text ? doc(text, literal(value)) : literal(value))) };
}

export function union(...schemas: readonly Schema[]): Schema {
	return { anyOf: schemas };
}

export function named(title: string, description: string, schema: Schema): Schema {
	return { ...schema, title, description };
}

export function string(options: object = {}): Schema {
	return { type: "string", ...options };
}

export function integer(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Schema {
	return { type: "integer", minimum, maximum };
}

export function list(items: Schema, options: object = {}): Schema {
	return { type: "array", items, ...options };
}

export function record(
	value: Schema,
	{ name = "^.*$", ...options }: { name?: string; maxProperties?: number } = {},
): Schema {
	const isClosed = name !== "^.*$";
	const additional = isClosed ? { additionalProperties: false } : {};
	return { type: "object", patternProperties: { [name]: value }, ...additional, ...options };
}

export function object(fields: Fields, options: object = {}): Schema {
	const required = Object.keys(fields).filter((name) => !fields[name]?.isOptional);
	const properties = Object.fromEntries(
		Object.entries(fields).map(([name, { isOptional: _, ...schema }]) => [name, schema]),
	);
	return { type: "object", ...(required.length > 0 ? { required } : {}), properties, ...options };
}

/** An object that refuses unknown members. */
export function closed(fields: Fields, options: object = {}): Schema {
	return object(fields, { additionalProperties: false, ...options });
}

/** A body from a client. Unknown members are refused. */
export function request(title: string, description: string, fields: Fields, options: object = {}): Schema {
	return named(title, description, closed(fields, options));
}

/** A message from the server. Later versions may add members. */
export function message(title: string, description: string, fields: Fields, options: object = {}): Schema {
	return named(title, description, object(fields, options));
}

/** Zero bytes are refused: `execve` would cut the value there. */
export const NO_NUL = "^[^\\u0000]*$";

export const text: Schema = string();
export const boolean: Schema = { type: "boolean" };
/** A member that is either true or left out. */
export const yes: Schema = optional(literal(true));
/** A query parameter for a boolean. */
export const flag: Schema = optional(literals("0", "1"));
export const number: Schema = { type: "integer" };
export const count: Schema = integer(0);
export const bytes: Schema = integer(0);
/** A duration, or milliseconds since the epoch. */
export const milliseconds: Schema = integer(0);
/** A position in a session's output. */
export const offset: Schema = integer(0);
/** Columns or rows. */
export const extent: Schema = integer(1, limits.maxSize);

/** The id of a workspace or a task. */
export const id: Schema = string({ pattern: idPattern, expected: "1 to 64 of A-Z, a-z, 0-9, _ . -" });
export const path: Schema = string({ pattern: "^/[^\\u0000]*$", maxLength: 4096, expected: "an absolute path" });

/** The name of a session, a token or a workspace. */
export const displayName: Schema = string({
	minLength: 1,
	maxLength: limits.nameLength,
	pattern: PRINTABLE,
	expected: "printable characters",
});

/** A position in a session's log. */
export const place: Schema = string({
	pattern: "^(\\d{1,15}|\\d{4}-\\d\\d-\\d\\d[0-9T:.Z+-]{0,30})$",
	expected: "an offset, or a time such as 2026-01-31T12:00:00Z",
});

export const size: Schema = message("Size", "The size of a terminal.", { cols: extent, rows: extent });
export const span: Schema = message("Span", "Output from one offset to another.", { from: offset, to: offset });
