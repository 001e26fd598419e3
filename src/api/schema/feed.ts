/** The feed: what happens to all sessions. */

import { feedTypes } from "../../words/feed-types.ts";
import { limits } from "../messages.ts";
import { agent } from "./agent.ts";
import { approval } from "./approvals.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { shellCommand } from "./shell.ts";
import { exit, overview } from "./states.ts";

const feedType = s.named(
	"FeedType",
	"A type of event to select. `failed` selects `lost`, and `exited` after a failure.",
	s.literals(...feedTypes, "failed"),
);

export const feedSession: s.Schema = s.message("FeedSession", "The session of an event.", {
	id: s.text,
	name: s.nullable(s.text),
	workspace: s.text,
	task: s.optional(s.text),
	labels: s.optional(s.doc("Left out if there are none.", s.record(s.text))),
});

export const feedEvent: s.Schema = s.message("FeedEvent", "Something that happened to a session.", {
	type: s.named(
		"FeedEventType",
		"`waiting`: a program waits for input; `ready`: a shell waits for a command; `command`: a command of a shell has ended; `agent`: the state of a coding agent, or its dialog, has changed. `quiet` and `changed` are sent only if the request asks for them.",
		s.literals(...feedTypes),
	),
	time: s.milliseconds,
	session: feedSession,
	exit: s.optional(s.doc("With `exited`.", exit)),
	failed: s.doc(
		"With `exited`: the program failed. It was not ended by a caller, and it is not a shell that a user left.",
		s.yes,
	),
	offset: s.optional(s.doc("With `waiting`, `ready` and `quiet`: the end of the output.", s.offset)),
	kind: s.optional(s.doc("With `waiting` and `ready`: the awaited input, `line`, `secret`, `key` or `tui`.", s.text)),
	prompt: s.optional(s.doc("With `waiting` and `ready`: the line before the cursor.", s.text)),
	program: s.optional(s.doc("With `waiting` and `ready`: the program that waits.", s.text)),
	command: s.optional(s.doc("With `command`.", shellCommand)),
	quietMs: s.optional(s.doc("With `quiet`: the time without output.", s.integer(0))),
	approval: s.optional(
		s.doc(
			"With `approval`: an action that is held or was decided. Reported to callers that may operate the session, and to the one that wants it.",
			approval,
		),
	),
	overview: s.optional(s.doc("With `changed`.", overview)),
	agent: s.optional(s.doc("With `agent`. Null once there is none.", s.nullable(agent))),
	secret: s.optional(
		s.doc(
			"With `secret`: a request and its status.",
			s.object({
				id: s.text,
				status: s.literals("asked", "given", "refused", "expired"),
				name: s.nullable(s.text),
				by: s.doc("The caller that answered it.", s.nullable(s.text)),
			}),
		),
	),
});

const nothing = s.message("NothingMore", "No data.", {});

export const feedOperations: OperationTable = {
	followEvents: {
		summary: "Follow what happens to all sessions",
		route: "GET /v1/events",
		right: "read",
		headers: ["last-event-id"],
		query: {
			since: s.optional(
				s.doc(
					"The cursor of the last event that the caller has. The header `Last-Event-ID` overrides it. New events only by default.",
					s.string({ maxLength: 64 }),
				),
			),
			overview: s.doc("Report `changed` events.", s.flag),
			type: s.optional(s.doc("Only these types. `failed` is an `exited` with `failed`, and `lost`.", s.list(feedType))),
			quietMs: s.optional(
				s.doc(
					"Report `quiet` after this time without output; 60000 with `type=quiet` alone.",
					s.integer(limits.minQuietMs, limits.maxQuietMs),
				),
			),
			workspace: s.optional(s.doc("Only sessions of this workspace.", s.text)),
			task: s.optional(s.doc("Only sessions started for this task.", s.text)),
			name: s.optional(s.doc("Only sessions with exactly this name.", s.text)),
			label: s.optional(s.doc("`key` or `key=value`. All must match.", s.list(s.text))),
		},
		content: ["text/event-stream"],
		events: { begin: nothing, gap: nothing, ...Object.fromEntries(feedTypes.map((type) => [type, feedEvent])) },
	},
};
