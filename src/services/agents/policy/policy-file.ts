/** Reads the operator's policies for the permission dialogs of coding agents. */

import type { TSchema } from "typebox";
import { Errors } from "typebox/value";
import { closed, list, optional, string } from "../../../api/schema/fields.ts";
import { validatorOf } from "../../../api/schema/validator.ts";
import { SessionError } from "../../../core/errors.ts";
import { OWNER_ALONE, readPrivate } from "../../../disk/private-file.ts";
import { checkExpressions } from "../../gates/expressions.ts";

/** The first policy for its workspace and its agent decides about a dialog. */
export type AgentPolicy = {
	/** Default: all. */
	readonly workspaces?: readonly string[];
	/** Default: all. */
	readonly agents?: readonly string[];
	/** Expressions. A command in which one of them matches is denied. */
	readonly deny?: readonly string[];
	/** Expressions. A command that one of them matches as a whole is allowed, unless it is denied. */
	readonly allow?: readonly string[];
};

/** @limit the file of agent policies | the server does not start */
const MAX_FILE_BYTES = 64 * 1024;
const MAX_POLICIES = 32;
const MAX_EXPRESSIONS = 32;
/** In UTF-16 units, like those of gates. */
const EXPRESSION_LENGTH = 200;

const names = list(string({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 64 });
const expressions = list(string({ minLength: 1, maxLength: EXPRESSION_LENGTH }), { maxItems: MAX_EXPRESSIONS });
const file = closed({
	policies: list(
		closed({
			workspaces: optional(names),
			agents: optional(names),
			deny: optional(expressions),
			allow: optional(expressions),
		}),
		{ maxItems: MAX_POLICIES },
	),
});
const validator = validatorOf(file as TSchema);

/** Refuses a file that other users could write, and an invalid one as a whole. */
export async function readAgentPolicies(path: string): Promise<readonly AgentPolicy[]> {
	const bytes = await readPrivate(path, OWNER_ALONE, MAX_FILE_BYTES);
	const value = jsonOf(path, bytes.toString());
	if (!validator().Check(value)) {
		const [problem] = Errors(file as TSchema, value);
		const field = problem?.instancePath.slice(1).replaceAll("/", ".") ?? "";
		const fault = problem?.message === "schema is false" ? "there is no such field" : problem?.message;
		throw wrong(path, `${field === "" ? "" : `${field}: `}${fault ?? "is not valid"}`);
	}
	const { policies } = value as { readonly policies: readonly AgentPolicy[] };
	for (const [index, { deny = [], allow = [] }] of policies.entries()) {
		check(`${path}: policies.${index}.deny`, deny);
		check(`${path}: policies.${index}.allow`, allow.map(whole));
	}
	return policies;
}

/** Matches a text of one line as a whole. */
export function whole(expression: string): string {
	return `^(?:${expression})$`;
}

function check(at: string, all: readonly string[]): void {
	try {
		if (all.length > 0) checkExpressions(all);
	} catch (error) {
		throw wrong(at, SessionError.from(error).message);
	}
}

function jsonOf(path: string, text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		throw wrong(path, "it is not JSON");
	}
}

function wrong(at: string, fault: string): SessionError {
	return new SessionError("invalid_argument", `${at}: ${fault}`);
}
