/** Validates requests against their schemas and words the error, which names the field. */

import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Errors } from "typebox/value";
import type { Schema } from "../api/schema/fields.ts";
import { validatorOf } from "../api/schema/validator.ts";
import { SessionError } from "../core/errors.ts";

/** Longer values are not repeated in an error. */
const SHOWN_LENGTH = 60;
/** Size of the part of a value that TypeBox looks at when it matches none of several schemas. */
const PRUNED = { members: 64, levels: 4 };

/** A validation error of TypeBox. */
type Problem = {
	readonly keyword: string;
	readonly schemaPath: string;
	readonly instancePath: string;
	readonly params: object;
	readonly message: string;
};

export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
	const compiled = validatorOf(schema);
	return (value) => {
		const received = httpPart === "querystring" ? fromQuery(schema, value) : value;
		// Fastify passes null for a missing body.
		if (httpPart === "body" && received === null && (schema as Schema).isOptional) return { value: received };
		if (compiled().Check(received)) return { value: received };
		return { error: problemOf(schema, received) };
	};
};

/** Query values are strings. Converts those whose schema wants an integer or a list. */
function fromQuery(schema: TSchema, query: unknown): unknown {
	const properties: Record<string, { type?: string }> =
		(schema as { properties?: Record<string, object> }).properties ?? {};
	if (typeof query !== "object" || query === null) return query;
	return Object.fromEntries(
		Object.entries(query).map(([key, value]: [string, unknown]) => {
			const type = Object.hasOwn(properties, key) ? properties[key]?.type : undefined;
			if (type === "array") return [key, Array.isArray(value) ? value : [value]];
			const isNumber = typeof value === "string" && /^-?\d{1,20}(\.\d{1,20})?$/.test(value);
			return [key, type === "integer" && isNumber ? Number(value) : value];
		}),
	);
}

/** The keywords of a schema about the members of a container. The others are about the container itself. */
type Members = {
	readonly required?: readonly string[];
	readonly properties?: Readonly<Record<string, TSchema>>;
	readonly patternProperties?: Readonly<Record<string, TSchema>>;
	readonly additionalProperties?: unknown;
	readonly items?: unknown;
};

/**
 * The first error in a value that does not match its schema.
 *
 * TypeBox collects all errors, which takes a second for some hundred thousand keys. This descends to the first invalid
 * member and gives TypeBox only that one.
 */
export function problemOf(schema: TSchema, value: unknown, path: readonly string[] = []): SessionError {
	const { required = [], properties, patternProperties, additionalProperties, items, ...own } = schema as Members;
	if (isObject(value) && (properties || patternProperties)) {
		const missing = required.filter((key) => !Object.hasOwn(value, key));
		if (missing.length > 0) return invalid(`${missing.join(", ")}: required`);
		for (const key in value) {
			if (memberSchema(schema, key) === undefined && additionalProperties === false) {
				return notAllowed(schema, [...path, key]);
			}
		}
		for (const key of patternProperties ? Object.keys(value) : Object.keys(properties ?? {})) {
			const member = Object.hasOwn(value, key) ? memberSchema(schema, key) : undefined;
			if (member && !validatorOf(member)().Check(value[key])) return problemOf(member, value[key], [...path, key]);
		}
		return problemHere(own, value, path);
	}
	if (Array.isArray(value) && isSchema(items)) {
		const validator = validatorOf(items)();
		const index = value.findIndex((item) => !validator.Check(item));
		return index < 0 ? problemHere(own, value, path) : problemOf(items, value[index], [...path, String(index)]);
	}
	return problemHere(schema, pruned(value), path);
}

function memberSchema(schema: TSchema, key: string): TSchema | undefined {
	const { properties = {}, patternProperties = {} } = schema as Members;
	if (Object.hasOwn(properties, key)) return properties[key];
	return Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern, "u").test(key))?.[1];
}

function notAllowed(schema: unknown, path: readonly string[]): SessionError {
	const { properties = {}, patternProperties = {} } = (schema ?? {}) as Members;
	const [pattern] = Object.keys(patternProperties);
	if (pattern !== undefined) return invalid(`${field(path)}: its name must match ${pattern}`);
	const known = Object.keys(properties);
	return invalid(`${field(path)}: not allowed here`, known.length > 0 ? `known are: ${known.join(", ")}` : undefined);
}

/** The first error of TypeBox for a value that is small, or whose members the schema does not restrict. */
function problemHere(schema: TSchema, value: unknown, path: readonly string[]): SessionError {
	const problems: readonly Problem[] = Errors(schema, value);
	const [first] = problems;
	if (!first) return invalid(`${field(path)}: not valid`);
	const place = [...path, ...keysOf(first.instancePath)];
	if (first.keyword === "boolean") return notAllowed(at(schema, parentOf(first.schemaPath)), place);
	if (first.keyword === "required") {
		const { requiredProperties = [] } = first.params as { requiredProperties?: string[] };
		return invalid(`${requiredProperties.join(", ")}: required`);
	}
	const { limit } = first.params as { limit?: number };
	if (first.keyword === "minLength" && limit === 1) return invalid(`${field(place)}: must not be empty`);
	const received = isSecret(place) ? "what was sent" : shown(at(value, first.instancePath));
	return invalid(`${field(place)}: ${expectation(schema, first, problems)}, not ${received}`);
}

function invalid(message: string, hint?: string): SessionError {
	return new SessionError("invalid_argument", message, hint === undefined ? {} : { hint });
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is TSchema {
	return isObject(value);
}

/** Cuts a value to a size that TypeBox checks quickly. */
function pruned(value: unknown, levels = PRUNED.levels): unknown {
	if (Array.isArray(value)) {
		return levels === 0 ? [] : value.slice(0, PRUNED.members).map((item) => pruned(item, levels - 1));
	}
	if (!isObject(value)) return value;
	const kept: [string, unknown][] = [];
	for (const key in value) {
		if (levels === 0 || kept.length === PRUNED.members) break;
		kept.push([key, pruned(value[key], levels - 1)]);
	}
	return Object.fromEntries(kept);
}

function expectation(schema: TSchema, first: Problem, problems: readonly Problem[]): string {
	const sameField = problems.filter((problem) => problem.instancePath === first.instancePath);
	const allowed = sameField.flatMap(({ keyword, params }) =>
		keyword === "const" ? [JSON.stringify((params as { allowedValue: unknown }).allowedValue)] : [],
	);
	if (allowed.length > 0) return `must be ${allowed.join(" or ")}`;
	if (first.keyword === "type") {
		const types = sameField.flatMap(({ keyword, params }) =>
			keyword === "type" ? [(params as { type: string }).type] : [],
		);
		return `must be ${types.map((type) => typeNames[type] ?? type).join(" or ")}`;
	}
	const part = at(schema, first.schemaPath) as Schema | undefined;
	if (first.keyword === "pattern") return `must be ${part?.expected ?? "free of control characters"}`;
	const bound = boundNames[first.keyword];
	return bound === undefined ? first.message : bound((first.params as { limit: number }).limit);
}

const boundNames: Readonly<Record<string, (limit: number) => string>> = {
	minimum: (limit) => `must be at least ${limit}`,
	maximum: (limit) => `must be at most ${limit}`,
	minLength: (limit) => `must have at least ${limit} characters`,
	maxLength: (limit) => `must have at most ${limit} characters`,
};

const typeNames: Readonly<Record<string, string>> = {
	integer: "a whole number",
	string: "a string",
	boolean: "true or false",
	array: "a list",
	object: "an object",
};

/** For example `env.PATH`. The body itself has no name. */
function field(path: readonly string[]): string {
	return path.length === 0 ? "the body" : path.join(".");
}

function keysOf(pointer: string): string[] {
	return pointer.replace(/^#/, "").split("/").slice(1).map(unescapeKey);
}

function at(root: unknown, pointer: string): unknown {
	let value = root;
	for (const key of keysOf(pointer)) {
		value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
	}
	return value;
}

function unescapeKey(key: string): string {
	return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

function parentOf(pointer: string): string {
	return pointer.slice(0, pointer.lastIndexOf("/"));
}

/** Whether a value may be a secret. Clients may log answers where they do not log requests. */
function isSecret([first]: readonly string[]): boolean {
	return first === "env" || first === "baseEnv";
}

/** A short form of a value for an error. Values may be large or deep. */
function shown(value: unknown): string {
	if (Array.isArray(value)) return "a list";
	if (typeof value === "object" && value !== null) return "an object";
	const json = JSON.stringify(value) ?? "nothing";
	return json.length > SHOWN_LENGTH ? `${json.slice(0, SHOWN_LENGTH)}…` : json;
}
