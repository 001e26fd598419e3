/** Reads the operator's file of secret sources: where each secret comes from, and which prompts it answers. */

import { isAbsolute } from "node:path";
import { SessionError } from "../../core/errors.ts";
import { OWNER_ALONE, readPrivate } from "../../disk/private-file.ts";
import { isPrintable } from "../../words/printable.ts";
import { programFault } from "./asking-program.ts";
import type { SecretLocation } from "./source-value.ts";

export type SecretSource = {
	/** Name for users and the audit. */
	readonly name: string;
	readonly from: SecretLocation;
	/** Path of the program that must ask. */
	readonly program: string;
	/** Expression that must match the whole prompt. */
	readonly prompt: string;
	/** Workspaces in which it applies. */
	readonly workspaces: readonly string[];
	/** Ids of the tokens whose requests it answers; null for all. */
	readonly tokens: readonly string[] | null;
};

/**
 * Larger than any file written by hand.
 * @limit the file of secret sources | the server does not start
 */
const MOST_FILE_BYTES = 64 * 1024;
/**
 * Each source is compared with the prompt of every request.
 * @limit secret sources | the server does not start
 */
const MOST_SOURCES = 32;
/** In UTF-16 units. */
const LONGEST_NAME = 64;

const FIELDS = ["name", "source", "program", "prompt", "workspaces", "tokens"];

/** Refuses a file that other users could read or write, and an invalid one as a whole. */
export async function readSecretSources(path: string): Promise<readonly SecretSource[]> {
	try {
		const sources = parse((await readPrivate(path, OWNER_ALONE, MOST_FILE_BYTES)).toString());
		for (const [index, { program }] of sources.entries()) {
			const fault = await programFault(program);
			if (fault !== undefined) throw wrong(`sources[${index}].program`, fault);
		}
		return sources;
	} catch (error) {
		if (error instanceof SessionError) throw new SessionError("invalid_argument", `${path}: ${error.message}`);
		throw error;
	}
}

/** Files that sandboxed programs must not read. */
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
		if (isTaken) throw wrong(`sources[${index}].name`, `${JSON.stringify(name)} is already the name of another source`);
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

function valueFrom(at: string, value: unknown): SecretLocation {
	if (Array.isArray(value)) {
		const [program = "", ...args] = textsOf(at, value);
		return { kind: "command", argv: [pathOf(at, program), ...args] };
	}
	const [, kind, what = ""] = /^(env|file|cmd):(.+)$/s.exec(textOf(at, value)) ?? [];
	if (kind === "file") return { kind, path: pathOf(at, what) };
	if (kind === "cmd") return { kind: "command", argv: ["/bin/sh", "-c", what] };
	if (kind !== "env") {
		throw wrong(at, 'expected "env:NAME", "file:PATH", "cmd:LINE", or a list of a program and its arguments');
	}
	// The server's environment does not change later.
	if (!process.env[what]) throw wrong(at, `the server has no variable ${JSON.stringify(what)}`);
	return { kind, name: what };
}

function nameOf(at: string, value: unknown): string {
	const name = textOf(at, value);
	if (name.length <= LONGEST_NAME && isPrintable(name)) return name;
	throw wrong(at, `expected up to ${LONGEST_NAME} printable characters`);
}

function expressionOf(at: string, value: unknown): string {
	const expression = textOf(at, value);
	// Such an expression could never match.
	if (/^\^? | \$?$/.test(expression)) throw wrong(at, "remove blanks at the ends; prompts are compared without them");
	const whole = `^(?:${expression})$`;
	try {
		new RegExp(whole);
		return whole;
	} catch (error) {
		throw wrong(at, error instanceof Error ? error.message : "is not a regular expression");
	}
}

function pathOf(at: string, value: unknown): string {
	const path = textOf(at, value);
	if (isAbsolute(path)) return path;
	throw wrong(at, `expected an absolute path, not ${JSON.stringify(path)}`);
}

function textsOf(at: string, value: unknown): readonly string[] {
	if (Array.isArray(value) && value.length > 0) return value.map((text: unknown) => textOf(at, text));
	throw wrong(at, "expected a list of one or more strings");
}

function textOf(at: string, value: unknown): string {
	if (typeof value === "string" && value !== "") return value;
	throw wrong(at, value === undefined ? "is missing" : "expected a string");
}

function objectOf(at: string, value: unknown, fields: readonly string[]): Readonly<Record<string, unknown>> {
	if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(at, "expected an object");
	const unknown = Object.keys(value).find((name) => !fields.includes(name));
	if (unknown !== undefined)
		throw wrong(at, `unknown field ${JSON.stringify(unknown)}; known are ${fields.join(", ")}`);
	return value as Record<string, unknown>;
}

/** The parser's message is not included, since it quotes the text, which may contain secrets. */
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
