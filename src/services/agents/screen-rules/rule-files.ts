/**
 * Reads the screen rules that users add: the JSON files of a directory. The rules of a file for a known agent are tried
 * before the built-in ones.
 */

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { Errors } from "typebox/value";
import { boolean, closed, integer, list, literals, optional, type Schema, string } from "../../../api/schema/fields.ts";
import { validatorOf } from "../../../api/schema/validator.ts";
import { SessionError } from "../../../core/errors.ts";
import { agentKinds } from "../../../words/agent.ts";
import type { AgentRules } from "./format.ts";
import { patternOf } from "./patterns.ts";

/** @limit a file of screen rules | % bytes | the server does not start */
const MAX_FILE = 256 * 1024;
const MAX_RULES = 128;

const word = string({ minLength: 1, maxLength: 200 });
const pattern = string({ minLength: 1, maxLength: 1_000 });
const patterns = list(pattern, { maxItems: 16 });

const dialog = closed({
	id: word,
	kind: literals(...agentKinds),
	footer: optional(pattern),
	below: optional(pattern),
	field: optional(pattern),
	menu: literals("numbered", "plain", "buttons", "none"),
	buttons: optional(list(word, { minItems: 2, maxItems: 16 })),
	hints: optional(pattern),
	isPointedByColor: optional(boolean),
	hasDescriptions: optional(boolean),
	question: optional(pattern),
	choice: optional(pattern),
	details: literals("above", "below"),
	choose: literals("digit", "arrows"),
	keys: optional(list(closed({ label: pattern, keys: list(word, { minItems: 1, maxItems: 16 }) }), { maxItems: 16 })),
	command: optional(pattern),
	allows: optional(pattern),
	denies: optional(pattern),
	text: optional(closed({ label: pattern, open: literals("digit", "arrows", "point") })),
});

const state = closed({
	id: word,
	state: literals("working", "done", "idle", "error"),
	rows: integer(1, 100),
	all: patterns,
	none: optional(patterns),
});

const rules: Schema = closed({
	agent: word,
	programs: list(word, { minItems: 1, maxItems: 16 }),
	tried: optional(list(word, { maxItems: 64 })),
	panel: optional(closed({ minColumns: integer(1, 1_000), columns: integer(1, 1_000) })),
	dialogs: list(dialog, { maxItems: MAX_RULES }),
	states: list(state, { maxItems: MAX_RULES }),
	input: optional(closed({ mark: pattern, end: pattern, status: optional(pattern) })),
});
const validator = validatorOf(rules as TSchema);

/** The built-in rules and those of the directory, if it exists. Rejects with `invalid_argument`, which names the file and the field. */
export async function readRuleFiles(directory: string, builtin: readonly AgentRules[]): Promise<readonly AgentRules[]> {
	const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	const all = new Map(builtin.map((one) => [one.agent, one]));
	for (const name of names.filter((one) => one.endsWith(".json")).sort()) {
		const own = await readRules(join(directory, name));
		all.set(own.agent, merged(own, all.get(own.agent)));
	}
	return [...all.values()];
}

async function readRules(path: string): Promise<AgentRules> {
	// Looked at before it is read: a named pipe would never end, and a huge file would fill the memory.
	const file = await stat(path);
	if (!file.isFile()) throw wrong(path, "it is not a file");
	if (file.size > MAX_FILE) throw wrong(path, `it is larger than ${MAX_FILE} bytes`);
	const value = jsonOf(path, await readFile(path, "utf8"));
	if (!validator().Check(value)) {
		const [problem] = Errors(rules as TSchema, value);
		const field = problem?.instancePath.slice(1).replaceAll("/", ".") ?? "";
		const fault = problem?.message === "schema is false" ? "there is no such field" : problem?.message;
		throw wrong(path, `${field === "" ? "" : `${field}: `}${fault ?? "is not valid"}`);
	}
	const read = value as AgentRules;
	for (const one of patternsIn(read)) checkPattern(path, one);
	return read;
}

function jsonOf(path: string, text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		throw wrong(path, "it is not JSON");
	}
}

function patternsIn({ dialogs, states, input }: AgentRules): string[] {
	const ofDialogs = dialogs.flatMap(({ keys = [], text, ...rule }) => [
		...[rule.footer, rule.below, rule.field, rule.hints, rule.question, rule.choice],
		...[rule.command, rule.allows, rule.denies, text?.label],
		...keys.map(({ label }) => label),
	]);
	const ofStates = states.flatMap(({ all, none = [] }) => [...all, ...none]);
	return [...ofDialogs, ...ofStates, input?.mark, input?.end, input?.status].filter((one) => one !== undefined);
}

function checkPattern(path: string, source: string): void {
	try {
		patternOf(source);
	} catch (error) {
		throw wrong(path, `${JSON.stringify(source)} is not a regular expression: ${(error as Error).message}`);
	}
}

function wrong(path: string, fault: string): SessionError {
	return new SessionError("invalid_argument", `${path}: ${fault}`);
}

function merged(own: AgentRules, known: AgentRules | undefined): AgentRules {
	if (!known) return own;
	return {
		...known,
		...own,
		programs: [...new Set([...own.programs, ...known.programs])],
		dialogs: [...own.dialogs, ...known.dialogs],
		states: [...own.states, ...known.states],
	};
}
