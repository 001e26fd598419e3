/** Output: bytes, text, an event stream, search, and what the program does. */

import { limits, outputHeaders } from "../messages.ts";
import { agentState } from "./agent.ts";
import {
	doc,
	extent,
	flag,
	integer,
	list,
	literal,
	literals,
	message,
	milliseconds,
	nullable,
	number,
	offset,
	optional,
	type Schema,
	span,
	string,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { exit, programState } from "./states.ts";

export const gapReason: Schema = doc(
	"`retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk.",
	literals("retention", "live", "journal"),
);

/** The data of each kind of event. */
const events = {
	output: message("OutputEvent", "A part of the output.", {
		offset,
		stream: literals("stdout", "stderr", "pty"),
		data: doc("Base64.", string({ contentEncoding: "base64" })),
	}),
	gap: message("GapEvent", "Output that the reader does not get.", { from: offset, to: offset, reason: gapReason }),
	resized: message("ResizedEvent", "The terminal has a new size.", { offset, cols: extent, rows: extent }),
	exited: message("ExitedEvent", "The program has ended.", { offset, exit }),
	closed: message("ClosedEvent", "The output is complete.", { offset }),
	lost: message("LostEvent", "The keeper ended without reporting the exit.", { offset, message: text }),
};

const searchMatch = message("SearchMatch", "The first match in a line of output.", {
	offset: doc("The first byte of the match.", offset),
	end: doc("The first byte after the match.", offset),
	time: doc("When it was written, in milliseconds since the epoch.", milliseconds),
	line: doc("The first byte of the line.", offset),
	text: doc("The line; of a long one, 1024 UTF-16 units around the match.", text),
	at: doc("Start and end of the match in `text`, in UTF-16 units.", {
		type: "array",
		prefixItems: [number, number],
		items: false,
		minItems: 2,
	}),
});

export const outputOperations: OperationTable = {
	readOutput: {
		summary: "Read output from an offset on, or follow it as an event stream",
		route: "GET /v1/sessions/:id/output",
		right: "read",
		headers: ["last-event-id"],
		query: {
			since: optional(
				doc("The first byte; 0 by default. Beyond the end it means the end, and `Hawser-Offset` says so.", offset),
			),
			limit: optional(
				doc(
					"At most this many bytes of output; 1048576 by default, 4194304 at most (more counts as that). With `as=text` all by default.",
					integer(1),
				),
			),
			as: optional(doc("Answer with text instead of bytes.", literal("text"))),
			max: optional(
				doc(
					"Length of the text in bytes: 9600 by default, 500 at least, 80000 at most (other numbers count as those). Without `as=text` the same as `limit`.",
					integer(1),
				),
			),
			redact: doc(
				"Leave out keys and tokens of known forms in the text: `[redacted: github token]`. Offsets stay those of the output.",
				flag,
			),
			wait: optional(
				doc(
					"If there is nothing yet, wait this long for the first byte or the end of the log, in milliseconds; 0 by default, 60000 at most (more counts as that).",
					milliseconds,
				),
			),
		},
		content: ["application/octet-stream", "text/plain", "text/event-stream"],
		answerHeaders: Object.values(outputHeaders),
		otherAnswers: { 204: null },
		events,
	},
	searchOutput: {
		summary: "Search everything that a session has written",
		route: "GET /v1/sessions/:id/search",
		right: "read",
		query: {
			q: doc("The text or expression to find.", string({ minLength: 1, maxLength: limits.patternLength })),
			regex: doc("`q` is a JavaScript regular expression without flags; otherwise plain text.", flag),
			ignoreCase: doc("Upper and lower case are equal.", flag),
			limit: optional(doc("Lines per answer; 100 by default.", integer(1, limits.maxListed))),
			after: optional(doc("`next` of the previous answer, or any offset to begin with.", offset)),
		},
		answer: message("SearchResult", "Lines that match.", {
			matches: list(searchMatch),
			searched: doc("The output that was searched. Earlier output that was asked for is gone.", span),
			next: doc("`after` of the next request; null if everything was searched.", nullable(offset)),
		}),
	},
	inspectSession: {
		summary: "Describe what a session's program does and waits for",
		route: "GET /v1/sessions/:id/state",
		right: "read",
		query: {
			agent: optional(
				doc("Answer once the agent has one of these states, or the program has ended.", list(agentState)),
			),
			wait: optional(
				doc("Milliseconds to wait for `agent`, 60000 at most; 0 by default. A timeout is not an error.", milliseconds),
			),
			explain: doc("Add `explanation`: the signals of the agent, and the rules that were tried.", flag),
		},
		answer: programState,
	},
};
