/** Search over HTTP: the lines of a session's output in which something is. */

import { SessionError } from "../../../core/errors.ts";
import { limits } from "../../../protocol/messages.ts";
import { bytesOf, crowded } from "../../answer-bytes.ts";
import { type Hosting, takeReader, whenOver } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import { Places } from "../../places.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import { idParams } from "../session-messages.ts";
import { TOLD_LENGTH } from "./line-search.ts";
import { searchQuery, searchResult } from "./messages.ts";
import { search } from "./search.ts";
import { taskOf } from "./task.ts";

/** Searches at a time: each is a process that may keep a processor busy for seconds. */
const SEARCHES = { each: 2, all: 4 };
/** What a match is in an answer, besides the text. */
const MATCH_BYTES = 256;

export function addSearch(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	const places = new Places(SEARCHES, busy);
	app.get(
		"/v1/sessions/:id/search",
		{
			config: { policy: "read", operation: "searchOutput", summary: "Find lines in everything a session wrote" },
			schema: { params: idParams, querystring: searchQuery, response: { 200: searchResult } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { q, regex, ignoreCase, limit = limits.listed } = request.query;
			const task = taskOf("q", { text: q, isExpression: regex === "1", ignoreCase: ignoreCase === "1", limit });
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const wanted = task.limit * (TOLD_LENGTH + MATCH_BYTES);
			if (bytesOf(caller, reply, hosting)(wanted) < wanted) throw crowded();
			const giveBack = places.take(caller);
			const patience = patienceOf(reply, hosting);
			try {
				return await search(session, { task, after: request.query.after ?? 0, signal: patience.signal });
			} finally {
				patience.end();
				giveBack();
			}
		},
	);
}

function busy(): SessionError {
	return new SessionError("limit_exceeded", "too many searches are under way, of this token or of all", {
		hint: "search one after the other",
	});
}
