/** Waits for an expression on a screen or in output. Matching runs in a process that can be killed, line by line. */

import { Budget } from "../../core/async/budget.ts";
import { LONGEST_LINE_BYTES } from "../search/line-search.ts";
import { toSearchQuery } from "../search/query.ts";
import { TextSearch } from "../search/text-search.ts";
import type { ScreenCondition, SelectRows } from "./screen.ts";
import type { OutputMatcher } from "./wait.ts";

/**
 * Each wait has its own process until it ends.
 * @limit waits for an expression at a time, on screens and in output | `limit_exceeded`
 */
const AWAITED = {
	what: "waits for expressions at a time",
	operator: 2,
	others: 4,
	each: 2,
	fair: 1,
	accounts: 3,
	hint: "request one at a time",
};

type Expression = { readonly text: string; readonly ignoreCase: boolean };

/** Slots for all waits of one server. */
export function expressionSlots(): Budget {
	return new Budget(AWAITED);
}

/** Matches in one of the rows of a screen. */
export function hasExpression(expression: Expression, linesOf: SelectRows): ScreenCondition {
	const search = searchFor("text", expression);
	return {
		check: (screen, signal) => search.isIn(linesOf(screen), { signal, where: "a screen" }),
		end: () => search.end(),
	};
}

/** Matches in a line of the output, which may be unfinished. The caller must end it. */
export class ExpressionMatcher implements OutputMatcher {
	readonly #search: TextSearch;
	/** The unfinished line. */
	#line = "";

	constructor(expression: Expression) {
		this.#search = searchFor("match", expression);
	}

	async isIn(piece: string, signal: AbortSignal): Promise<boolean> {
		const lines = (this.#line + piece).split(/[\r\n]/);
		// A long line is searched in pieces, as elsewhere.
		this.#line = (lines.at(-1) ?? "").slice(-LONGEST_LINE_BYTES);
		return this.#search.isIn(lines, { signal, where: "the new output" });
	}

	restart(): void {
		this.#line = "";
	}

	end(): void {
		this.#search.end();
	}
}

function searchFor(name: string, expression: Expression): TextSearch {
	return new TextSearch(toSearchQuery(name, { ...expression, isExpression: true, limit: 1 }));
}
