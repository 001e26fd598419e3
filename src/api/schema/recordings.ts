/** Recordings, and output per interval of time. */

import {
	displayName,
	doc,
	id,
	integer,
	list,
	literals,
	message,
	milliseconds,
	named,
	nullable,
	number,
	optional,
	place,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { session } from "./sessions.ts";

/** More intervals than any chart has pixels. */
const MAX_BUCKETS = 2_000;

const format = named("RecordingFormat", "A file format of recordings.", literals("asciicast-v2", "asciicast-v3"));

export const recordingOperations: OperationTable = {
	recordSession: {
		summary: "Export a session's output with its times as an asciicast",
		route: "GET /v1/sessions/:id/recording",
		right: "read",
		query: {
			format: optional(
				doc(
					"`asciicast-v2` by default. `asciicast-v3` has the exit code (`x`; 128 plus the number of a signal).",
					format,
				),
			),
			idleLimitMs: optional(
				doc("The `idle_time_limit` of the header: players shorten longer pauses to this; the times stay.", integer(1)),
			),
			from: optional(
				doc(
					"Begin here. The header has the size of the terminal at that time, and the first event draws its screen, if that is available.",
					place,
				),
			),
			to: optional(doc("End here.", place)),
		},
		content: ["application/x-asciicast"],
	},
	importRecording: {
		summary: "Import an asciicast as a session that has ended",
		route: "POST /v1/recordings",
		right: "manage",
		startsProgram: true,
		takes: "application/x-asciicast",
		query: {
			name: optional(doc("By default the title of the recording, if that can be a name.", displayName)),
			workspace: optional(doc("`default` by default.", id)),
		},
		answer: session,
		status: 201,
		answerHeaders: ["location"],
	},
	readActivity: {
		summary: "Count a session's output per interval of time",
		route: "GET /v1/sessions/:id/activity",
		right: "read",
		query: {
			from: optional(doc("Milliseconds since the epoch; by default the start of the session.", milliseconds)),
			to: optional(doc("Milliseconds since the epoch; by default now, or the end of the program.", milliseconds)),
			buckets: optional(doc("Number of intervals; 100 by default.", integer(1, MAX_BUCKETS))),
		},
		answer: message("ActivityMessage", "Output bytes in equal intervals of time.", {
			from: milliseconds,
			to: milliseconds,
			bytes: doc("Oldest first.", list(number)),
			until: doc("The time up to which the log was read; null if all of it was.", nullable(milliseconds)),
		}),
	},
};
