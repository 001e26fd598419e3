/** Expressions that somebody waits for, on a screen or in output: tried in a process that can be killed, line by line. */

import { SessionError } from "../../../core/errors.ts";
import { Places } from "../../places.ts";
import type { Condition, LinesOf } from "../../screen-wait.ts";
import type { Matcher } from "../../wait.ts";
import { LONGEST_LINE_BYTES } from "./line-search.ts";
import { taskOf } from "./task.ts";
import { TextSearch } from "./text-search.ts";

/** How many may be waited for at a time: each has a process for as long as that takes. */
const AWAITED = { each: 2, all: 4 };

type Expression = { readonly text: string; readonly ignoreCase: boolean };

/** For all who wait on one server. */
export function awaitedExpressions(): Places {
	return new Places(AWAITED, () => {
		const why = "too many wait for an expression, of this token or of all";
		return new SessionError("limit_exceeded", why, { hint: "ask for one after the other" });
	});
}

/** It matches in one of the rows of a screen. */
export function hasExpression(expression: Expression, linesOf: LinesOf): Condition {
	const search = searchFor("text", expression);
	return {
		check: (screen, signal) => search.isIn(linesOf(screen), { signal, where: "a screen" }),
		end: () => search.end(),
	};
}

/** It matches in a line of the output, be it unfinished; to be ended by who waits. */
export class ExpressionMatcher implements Matcher {
	readonly #search: TextSearch;
	/** The line that goes on. */
	#line = "";

	constructor(expression: Expression) {
		this.#search = searchFor("match", expression);
	}

	async isIn(piece: string, signal: AbortSignal): Promise<boolean> {
		const lines = (this.#line + piece).split(/[\r\n]/);
		// A line without end is searched as several, as it is elsewhere.
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
	return new TextSearch(taskOf(name, { ...expression, isExpression: true, limit: 1 }));
}
