/** Search over HTTP: the lines of a session's output in which something is. */

import { SessionError } from "../../../core/errors.ts";
import { limits, type SearchQuery } from "../../../protocol/messages.ts";
import { bytesOf, crowded } from "../../answer-bytes.ts";
import { type Hosting, takeReader, whenOver } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import { idParams } from "../session-messages.ts";
import { TOLD_LENGTH } from "./line-search.ts";
import { searchQuery, searchResult } from "./messages.ts";
import type { Task } from "./process.ts";
import { search } from "./search.ts";

/** Searches at a time: each is a process that may keep a processor busy for seconds. */
const SEARCHES = 4;
const SEARCHES_EACH = 2;
/** What a match is in an answer, besides the text. */
const MATCH_BYTES = 256;

export function addSearch(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	const running: string[] = [];
	app.get(
		"/v1/sessions/:id/search",
		{
			config: { policy: "read", operation: "searchOutput", summary: "Find lines in everything a session wrote" },
			schema: { params: idParams, querystring: searchQuery, response: { 200: searchResult } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { account } = caller;
			const task = taskOf(request.query);
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const wanted = task.limit * (TOLD_LENGTH + MATCH_BYTES);
			if (bytesOf(caller, reply, hosting)(wanted) < wanted) throw crowded();
			if (running.length >= SEARCHES || running.filter((one) => one === account).length >= SEARCHES_EACH) throw busy();
			running.push(account);
			const patience = patienceOf(reply, hosting);
			try {
				return await search(session, { task, after: request.query.after ?? 0, signal: patience.signal });
			} finally {
				patience.end();
				running.splice(running.indexOf(account), 1);
			}
		},
	);
}

function taskOf({ q, regex, ignoreCase, limit = limits.listed }: SearchQuery): Task {
	const source = regex === "1" ? q : q.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
	const flags = ignoreCase === "1" ? "i" : "";
	try {
		new RegExp(source, flags);
	} catch (error) {
		throw new SessionError("invalid_argument", `q: ${error instanceof Error ? error.message : "no expression"}`);
	}
	return { source, flags, limit };
}

function busy(): SessionError {
	return new SessionError("limit_exceeded", "too many searches are under way, of this token or of all", {
		hint: "search one after the other",
	});
}
