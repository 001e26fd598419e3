/** Converts a search request to an expression. */

import { SessionError } from "../../core/errors.ts";
import type { SearchQuery } from "./search-process.ts";

type QueryOptions = {
	readonly text: string;
	/** Otherwise the text is literal. */
	readonly isExpression: boolean;
	readonly ignoreCase: boolean;
	readonly limit: number;
};

/** `name` is the parameter's name for errors. */
export function toSearchQuery(name: string, { text, isExpression, ignoreCase, limit }: QueryOptions): SearchQuery {
	const source = isExpression ? text : text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
	const flags = ignoreCase ? "i" : "";
	try {
		new RegExp(source, flags);
	} catch (error) {
		throw new SessionError(
			"invalid_argument",
			`${name}: ${error instanceof Error ? error.message : "invalid expression"}`,
		);
	}
	return { source, flags, limit, isLiteral: !isExpression };
}
