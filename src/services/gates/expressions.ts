/** Validates the expressions of gates, and combines them into one search. */

import { SessionError } from "../../core/errors.ts";
import { toSearchQuery } from "../search/query.ts";
import type { SearchQuery } from "../search/search-process.ts";

/** Combining expressions changes group numbers, so back references would not work. */
const BACK_REFERENCE = /\\[1-9]|\\k</;

/** Throws for an invalid expression. */
export function checkExpressions(expressions: readonly string[]): void {
	for (const expression of expressions) {
		taskFor([expression]);
		if (!BACK_REFERENCE.test(expression)) continue;
		throw new SessionError("invalid_argument", "gate.match: back references are not supported");
	}
	// Combined, two groups may have the same name.
	taskFor(expressions);
}

/** A search that finds any of the expressions. */
export function taskFor(expressions: readonly string[]): SearchQuery {
	const text = expressions.map((one) => `(?:${one})`).join("|");
	return toSearchQuery("gate.match", { text, isExpression: true, ignoreCase: false, limit: 1 });
}
