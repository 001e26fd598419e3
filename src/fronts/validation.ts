/** Checks requests against their schemas, strictly, and says what is wrong in a sentence that names the field. */

import type { FastifySchemaCompiler } from "fastify";
import { IsOptional, type TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { SessionError } from "../core/errors.ts";

/** Values longer than this are not repeated in a message. */
const SHOWN_LENGTH = 60;

/** What TypeBox says of one thing that is wrong. */
type Problem = {
	readonly keyword: string;
	readonly schemaPath: string;
	readonly instancePath: string;
	readonly params: object;
	readonly message: string;
};

/** Compiles a schema for the first value that is checked: a server has hundreds, and is asked for few of them. */
export function validatorOf(schema: TSchema): () => Validator {
	let validator: Validator | undefined;
	return () => {
		validator ??= Compile(schema);
		return validator;
	};
}

export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
	const compiled = validatorOf(schema);
	return (value) => {
		const received = httpPart === "querystring" ? fromQuery(schema, value) : value;
		// Fastify says null for a body that is not there.
		if (httpPart === "body" && received === null && IsOptional(schema)) return { value: received };
		const validator = compiled();
		if (validator.Check(received)) return { value: received };
		return { error: problemOf(schema, validator.Errors(received), received) };
	};
};

/** A query has only strings: those that stand for numbers and lists become what the schema asks for, and nothing else does. */
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

/** The first thing that is wrong, in a sentence that names the field. */
export function problemOf(schema: TSchema, problems: readonly Problem[], value: unknown): SessionError {
	const [first] = problems;
	if (!first) return new SessionError("invalid_argument", "the request is not valid");
	if (first.keyword === "boolean") {
		const parent = at(schema, parentOf(first.schemaPath)) as
			| Record<"properties" | "patternProperties", object>
			| undefined;
		const [keys] = Object.keys(parent?.patternProperties ?? {});
		if (keys !== undefined) return new SessionError("invalid_argument", `${field(first)}: its name must match ${keys}`);
		const known = Object.keys(parent?.properties ?? {});
		const hint = known.length > 0 ? { hint: `known are: ${known.join(", ")}` } : {};
		return new SessionError("invalid_argument", `${field(first)}: not allowed here`, hint);
	}
	if (first.keyword === "required") {
		const missing = (first.params as { requiredProperties?: string[] }).requiredProperties ?? [];
		return new SessionError("invalid_argument", `${missing.join(", ")}: required`);
	}
	const { limit } = first.params as { limit?: number };
	if (first.keyword === "minLength" && limit === 1)
		return new SessionError("invalid_argument", `${field(first)}: must not be empty`);
	const received = isSecret(first.instancePath) ? "what was sent" : shown(at(value, first.instancePath));
	return new SessionError(
		"invalid_argument",
		`${field(first)}: ${expectation(schema, first, problems)}, not ${received}`,
	);
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
	const part = at(schema, first.schemaPath) as { description?: string } | undefined;
	if (first.keyword === "pattern") return `must be ${part?.description ?? "free of control characters"}`;
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

/** `/env/PATH` as `env.PATH`; the body itself has no name. */
function field({ instancePath }: Problem): string {
	const path = instancePath.split("/").slice(1).map(unescapeKey);
	return path.length === 0 ? "the body" : path.join(".");
}

function at(root: unknown, pointer: string): unknown {
	let value = root;
	for (const key of pointer.replace(/^#/, "").split("/").slice(1).map(unescapeKey)) {
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

/** Whether a value may be a secret: answers are logged where requests are not. */
function isSecret(instancePath: string): boolean {
	return instancePath === "/env" || instancePath.startsWith("/env/");
}

/** Only what is small and flat: a value may be as large, or as deep, as its sender likes. */
function shown(value: unknown): string {
	if (Array.isArray(value)) return "a list";
	if (typeof value === "object" && value !== null) return "an object";
	const json = JSON.stringify(value) ?? "nothing";
	return json.length > SHOWN_LENGTH ? `${json.slice(0, SHOWN_LENGTH)}…` : json;
}
