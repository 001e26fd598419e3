/** The expressions of gates: which may be one, and whether one of them matches in a text. */

import { SessionError } from "../../../core/errors.ts";
import { EVERYTHING } from "../../../core/gate.ts";
import { SearchProcess } from "./process.ts";
import { taskOf } from "./task.ts";

/** What is judged at most, in UTF-16 units, so that a process has memory for it: more than anybody looks through. */
const LONGEST_JUDGED: number = 4 * 1024 ** 2;

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
 * Whether one of them matches in a line of the text, as it is. Most are plain texts, which are looked for here; the
 * others are tried in a process that can be killed. Rejects with `limit_exceeded` when they take too long, or the text is.
 */
export async function matchesOne(expressions: readonly string[], text: string): Promise<boolean> {
	if (expressions.some((one) => one === EVERYTHING || (LITERAL.test(one) && text.includes(one)))) return true;
	const others = expressions.filter((one) => !LITERAL.test(one));
	if (others.length === 0) return false;
	if (text.length > LONGEST_JUDGED) {
		throw new SessionError("limit_exceeded", `more than ${LONGEST_JUDGED} characters can't be judged by expressions`);
	}
	const search = new SearchProcess({ ...taskFor(others), isExact: true });
	try {
		const batch = { bytes: Buffer.from(text), marks: [], isLast: true };
		const patience = { signal: new AbortController().signal, where: "what is typed" };
		return (await search.ask(batch, patience)).isFull;
	} finally {
		search.end();
	}
}

function taskFor(expressions: readonly string[]): ReturnType<typeof taskOf> {
	const text = expressions.map((one) => `(?:${one})`).join("|");
	return taskOf("gate.match", { text, isExpression: true, ignoreCase: false, limit: 1 });
}
