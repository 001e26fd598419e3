/** Output: bytes, text, an event stream, search, and what the program does. */

import { limits, outputHeaders } from "../messages.ts";
import { agentState } from "./agent.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { exit, programState } from "./states.ts";

export const gapReason: s.Schema = s.doc(
	"`retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk.",
	s.literals("retention", "live", "journal"),
);

/** The data of each kind of event. */
const events = {
	output: s.message("OutputEvent", "A part of the output.", {
		offset: s.offset,
		stream: s.literals("stdout", "stderr", "pty"),
		data: s.doc("Base64.", s.string({ contentEncoding: "base64" })),
	}),
	gap: s.message("GapEvent", "Output that the reader does not get.", {
		from: s.offset,
		to: s.offset,
		reason: gapReason,
	}),
	resized: s.message("ResizedEvent", "The terminal has a new size.", {
		offset: s.offset,
		cols: s.extent,
		rows: s.extent,
	}),
	exited: s.message("ExitedEvent", "The program has ended.", { offset: s.offset, exit }),
	closed: s.message("ClosedEvent", "The output is complete.", { offset: s.offset }),
	lost: s.message("LostEvent", "The keeper ended without reporting the exit.", { offset: s.offset, message: s.text }),
};

const searchMatch = s.message("SearchMatch", "The first match in a line of output.", {
	offset: s.doc("The first byte of the match.", s.offset),
	end: s.doc("The first byte after the match.", s.offset),
	time: s.doc("When it was written, in milliseconds since the epoch.", s.milliseconds),
	line: s.doc("The first byte of the line.", s.offset),
	text: s.doc("The line; of a long one, 1024 UTF-16 units around the match.", s.text),
	at: s.doc("Start and end of the match in `text`, in UTF-16 units.", {
		type: "array",
		prefixItems: [s.number, s.number],
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
			since: s.optional(
				s.doc("The first byte; 0 by default. Beyond the end it means the end, and `Hawser-Offset` says so.", s.offset),
			),
			limit: s.optional(
				s.doc(
					"At most this many bytes of output; 1048576 by default, 4194304 at most (more counts as that). With `as=text` all by default.",
					s.integer(1),
				),
			),
			as: s.optional(s.doc("Answer with text instead of bytes.", s.literal("text"))),
			max: s.optional(
				s.doc(
					"Length of the text in bytes: 9600 by default, 500 at least, 80000 at most (other numbers count as those). Without `as=text` the same as `limit`.",
					s.integer(1),
				),
			),
			redact: s.doc(
				"Leave out keys and tokens of known forms in the text: `[redacted: github token]`. Offsets stay those of the output.",
				s.flag,
			),
			wait: s.optional(
				s.doc(
					"If there is nothing yet, wait this long for the first byte or the end of the log, in milliseconds; 0 by default, 60000 at most (more counts as that).",
					s.milliseconds,
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
			q: s.doc("The text or expression to find.", s.string({ minLength: 1, maxLength: limits.patternLength })),
			regex: s.doc("`q` is a JavaScript regular expression without flags; otherwise plain text.", s.flag),
			ignoreCase: s.doc("Upper and lower case are equal.", s.flag),
			limit: s.optional(s.doc("Lines per answer; 100 by default.", s.integer(1, limits.maxListed))),
			after: s.optional(s.doc("`next` of the previous answer, or any offset to begin with.", s.offset)),
		},
		answer: s.message("SearchResult", "Lines that match.", {
			matches: s.list(searchMatch),
			searched: s.doc("The output that was searched. Earlier output that was asked for is gone.", s.span),
			next: s.doc("`after` of the next request; null if everything was searched.", s.nullable(s.offset)),
		}),
	},
	inspectSession: {
		summary: "Describe what a session's program does and waits for",
		route: "GET /v1/sessions/:id/state",
		right: "read",
		query: {
			agent: s.optional(
				s.doc("Answer once the agent has one of these states, or the program has ended.", s.list(agentState)),
			),
			wait: s.optional(
				s.doc(
					"Milliseconds to wait for `agent`, 60000 at most; 0 by default. A timeout is not an error.",
					s.milliseconds,
				),
			),
			explain: s.doc("Add `explanation`: the signals of the agent, and the rules that were tried.", s.flag),
		},
		answer: programState,
	},
};
