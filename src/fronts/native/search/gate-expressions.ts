/** The expressions of gates: which may be one, and whether one of them matches in a text. */

import { SessionError } from "../../../core/errors.ts";
import { EVERYTHING } from "../../../core/gate.ts";
import { taskOf } from "./task.ts";
import { TextSearch } from "./text-search.ts";

/** They are tried together, so that a group has another number than where it stands. */
const BACK_REFERENCE = /\\[1-9]|\\k</;
const LITERAL = /^[^\\^$.*+?()[\]{}|/]*$/;

/** Throws for what is no expression. */
export function checkExpressions(expressions: readonly string[]): void {
	for (const expression of expressions) {
		taskFor([expression]);
		if (!BACK_REFERENCE.test(expression)) continue;
		throw new SessionError("invalid_argument", "gate.match: an expression of a gate can't refer back to its groups");
	}
	// All together: two groups may have the same name.
	taskFor(expressions);
}

/**
 * Whether one of them matches in a line of the text. Most are plain texts, which are looked for here; the others are
 * tried in a process that can be killed, and rejects with `limit_exceeded` when they take too long.
 */
export async function matchesOne(expressions: readonly string[], text: string): Promise<boolean> {
	if (expressions.some((one) => one === EVERYTHING || (LITERAL.test(one) && text.includes(one)))) return true;
	const others = expressions.filter((one) => !LITERAL.test(one));
	if (others.length === 0) return false;
	const search = new TextSearch(taskFor(others));
	try {
		return await search.isIn(text.split("\n"), { signal: new AbortController().signal, where: "what is typed" });
	} finally {
		search.end();
	}
}

function taskFor(expressions: readonly string[]): ReturnType<typeof taskOf> {
	const text = expressions.map((one) => `(?:${one})`).join("|");
	return taskOf("gate.match", { text, isExpression: true, ignoreCase: false, limit: 1 });
}
