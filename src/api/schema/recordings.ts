/** Recordings, and output per interval of time. */

import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { session } from "./sessions.ts";

/** More intervals than any chart has pixels. */
const MAX_BUCKETS = 2_000;

const format = s.named("RecordingFormat", "A file format of recordings.", s.literals("asciicast-v2", "asciicast-v3"));

export const recordingOperations: OperationTable = {
	recordSession: {
		summary: "Export a session's output with its times as an asciicast",
		route: "GET /v1/sessions/:id/recording",
		right: "read",
		query: {
			format: s.optional(
				s.doc(
					"`asciicast-v2` by default. `asciicast-v3` has the exit code (`x`; 128 plus the number of a signal).",
					format,
				),
			),
			idleLimitMs: s.optional(
				s.doc(
					"The `idle_time_limit` of the header: players shorten longer pauses to this; the times stay.",
					s.integer(1),
				),
			),
			from: s.optional(
				s.doc(
					"Begin here. The header has the size of the terminal at that time, and the first event draws its screen, if that is available.",
					s.place,
				),
			),
			to: s.optional(s.doc("End here.", s.place)),
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
			name: s.optional(s.doc("By default the title of the recording, if that can be a name.", s.displayName)),
			workspace: s.optional(s.doc("`default` by default.", s.id)),
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
			from: s.optional(s.doc("Milliseconds since the epoch; by default the start of the session.", s.milliseconds)),
			to: s.optional(s.doc("Milliseconds since the epoch; by default now, or the end of the program.", s.milliseconds)),
			buckets: s.optional(s.doc("Number of intervals; 100 by default.", s.integer(1, MAX_BUCKETS))),
		},
		answer: s.message("ActivityMessage", "Output bytes in equal intervals of time.", {
			from: s.milliseconds,
			to: s.milliseconds,
			bytes: s.doc("Oldest first.", s.list(s.number)),
			until: s.doc("The time up to which the log was read; null if all of it was.", s.nullable(s.milliseconds)),
		}),
	},
};
