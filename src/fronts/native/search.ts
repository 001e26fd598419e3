/** Search over HTTP: finds matching lines of a session's output. */

import { limits } from "../../api/messages.ts";
import { Budget } from "../../core/async/budget.ts";
import { EXCERPT_LENGTH } from "../../services/search/line-search.ts";
import { toSearchQuery } from "../../services/search/query.ts";
import { search } from "../../services/search/search.ts";
import type { Serve } from "./serve.ts";

/**
 * Concurrent searches. Each is a process that can use a processor for seconds.
 * @limit searches at a time | `limit_exceeded`
 */
const SEARCHES = {
	what: "searches at a time",
	operator: 2,
	others: 4,
	each: 2,
	fair: 1,
	accounts: 3,
	hint: "search one after the other",
};
/** Bytes of a match in an answer, besides its text. */
const MATCH_BYTES = 256;

export function addSearch(serve: Serve): void {
	const searches = new Budget(SEARCHES);
	serve("searchOutput", async (call) => {
		const { session, caller, query, signal } = call;
		const { q, regex, ignoreCase, limit = limits.listed, after = 0 } = query;
		const task = toSearchQuery("q", { text: q, isExpression: regex === "1", ignoreCase: ignoreCase === "1", limit });
		call.startReading();
		call.holdBytes().all(task.limit * (EXCERPT_LENGTH + MATCH_BYTES));
		const giveBack = searches.enter(caller);
		try {
			return await search(session, { task, after, signal });
		} finally {
			giveBack();
		}
	});
}
