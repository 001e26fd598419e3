/** The operator's sources of secrets, as a file names them: what each has, and which questions it may answer. */

import { isAbsolute } from "node:path";
import { SessionError } from "../core/errors.ts";
import { isPrintable } from "../protocol/printable.ts";
import { programFault } from "./asking-program.ts";
import { ConfigError } from "./config.ts";
import { OWNER_ALONE, readPrivate } from "./private-file.ts";
import type { ValueFrom } from "./source-value.ts";

export type SecretSource = {
	/** By which people and the audit know it. */
	readonly name: string;
	readonly from: ValueFrom;
	/** The file of the program that must ask. */
	readonly program: string;
	/** What it must ask, as an expression that stands for the whole of it. */
	readonly prompt: string;
	/** Where it must ask. */
	readonly workspaces: readonly string[];
	/** Whose requests are answered, by the ids of their tokens; everybody's, when null. */
	readonly tokens: readonly string[] | null;
};

/** More than anybody writes by hand. */
const MOST_FILE_BYTES = 64 * 1024;
/** Each is compared with every prompt for which something is asked. */
const MOST_SOURCES = 32;
/** In UTF-16 units. */
const LONGEST_NAME = 64;

const FIELDS = ["name", "source", "program", "prompt", "workspaces", "tokens"];

/** Refuses a file that others could have written or read, and one that is not right as a whole. */
export async function readSecretSources(path: string): Promise<readonly SecretSource[]> {
	try {
		const sources = parse((await readPrivate(path, OWNER_ALONE, MOST_FILE_BYTES)).toString());
		for (const [index, { program }] of sources.entries()) {
			const fault = await programFault(program);
			if (fault !== undefined) throw wrong(`sources[${index}].program`, fault);
		}
		return sources;
	} catch (error) {
		if (error instanceof SessionError) throw new ConfigError("--secret-sources", `${path}: ${error.message}`);
		throw error;
	}
}

/** What of it must be kept from programs in sandboxes. */
export function filesOf(sources: readonly SecretSource[]): string[] {
	return sources.flatMap(({ from }) => (from.kind === "file" ? [from.path] : []));
}

function parse(text: string): SecretSource[] {
	const { sources } = objectOf("the file", jsonOf(text), ["sources"]);
	if (!Array.isArray(sources) || sources.length > MOST_SOURCES) {
		throw wrong("sources", `expected a list of up to ${MOST_SOURCES} sources`);
	}
	const parsed = sources.map((source: unknown, index) => sourceOf(`sources[${index}]`, source));
	for (const [index, { name }] of parsed.entries()) {
		const isTaken = parsed.findIndex((other) => other.name === name) < index;
		if (isTaken) throw wrong(`sources[${index}].name`, `${JSON.stringify(name)} is the name of another, too`);
	}
	return parsed;
}

function sourceOf(at: string, value: unknown): SecretSource {
	const source = objectOf(at, value, FIELDS);
	return {
		name: nameOf(`${at}.name`, source.name),
		from: valueFrom(`${at}.source`, source.source),
		program: pathOf(`${at}.program`, source.program),
		prompt: expressionOf(`${at}.prompt`, source.prompt),
		workspaces: textsOf(`${at}.workspaces`, source.workspaces),
		tokens: source.tokens === undefined ? null : textsOf(`${at}.tokens`, source.tokens),
	};
}

function valueFrom(at: string, value: unknown): ValueFrom {
	if (Array.isArray(value)) {
		const [program = "", ...args] = textsOf(at, value);
		return { kind: "command", argv: [pathOf(at, program), ...args] };
	}
	const [, kind, what = ""] = /^(env|file|cmd):(.+)$/s.exec(textOf(at, value)) ?? [];
	if (kind === "file") return { kind, path: pathOf(at, what) };
	if (kind === "cmd") return { kind: "command", argv: ["/bin/sh", "-c", what] };
	if (kind !== "env") {
		throw wrong(at, 'expected "env:NAME", "file:PATH", "cmd:LINE", or a list: a program and its arguments');
	}
	// It will not be there later either.
	if (!process.env[what]) throw wrong(at, `the server has no variable ${JSON.stringify(what)}`);
	return { kind, name: what };
}

function nameOf(at: string, value: unknown): string {
	const name = textOf(at, value);
	if (name.length <= LONGEST_NAME && isPrintable(name)) return name;
	throw wrong(at, `expected up to ${LONGEST_NAME} characters, none of which controls a terminal`);
}

function expressionOf(at: string, value: unknown): string {
	const expression = textOf(at, value);
	// It would never match, and nobody would know why.
	if (/^\^? | \$?$/.test(expression)) throw wrong(at, "prompts are compared without the blanks at their ends");
	const whole = `^(?:${expression})$`;
	try {
		new RegExp(whole);
		return whole;
	} catch (error) {
		throw wrong(at, error instanceof Error ? error.message : "is no expression");
	}
}

function pathOf(at: string, value: unknown): string {
	const path = textOf(at, value);
	if (isAbsolute(path)) return path;
	throw wrong(at, `expected a path from / on, not ${JSON.stringify(path)}`);
}

function textsOf(at: string, value: unknown): readonly string[] {
	if (Array.isArray(value) && value.length > 0) return value.map((text: unknown) => textOf(at, text));
	throw wrong(at, "expected a list of one text or more");
}

function textOf(at: string, value: unknown): string {
	if (typeof value === "string" && value !== "") return value;
	throw wrong(at, value === undefined ? "is missing" : "expected a text");
}

function objectOf(at: string, value: unknown, fields: readonly string[]): Readonly<Record<string, unknown>> {
	if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(at, "expected an object");
	const unknown = Object.keys(value).find((name) => !fields.includes(name));
	if (unknown !== undefined) throw wrong(at, `has no field ${JSON.stringify(unknown)}, only ${fields.join(", ")}`);
	return value as Record<string, unknown>;
}

/** The message of the parser is not told: it has pieces of the text in it, such as what a command is given. */
function jsonOf(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw wrong("the file", "is not JSON");
	}
}

function wrong(at: string, why: string): SessionError {
	return new SessionError("invalid_argument", `${at}: ${why}`);
}
