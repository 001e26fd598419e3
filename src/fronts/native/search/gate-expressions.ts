/** The expressions of gates: which may be one, and how all of a gate are tried at once. */

import { SessionError } from "../../../core/errors.ts";
import type { Task } from "./process.ts";
import { taskOf } from "./task.ts";

/** They are tried together, so that a group has another number than where it stands. */
const BACK_REFERENCE = /\\[1-9]|\\k</;

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

/** What looks for any of them. */
export function taskFor(expressions: readonly string[]): Task {
	const text = expressions.map((one) => `(?:${one})`).join("|");
	return taskOf("gate.match", { text, isExpression: true, ignoreCase: false, limit: 1 });
}
