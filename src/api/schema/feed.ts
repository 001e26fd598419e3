/** The feed: what happens to all sessions. */

import { limits } from "../messages.ts";
import { agent } from "./agent.ts";
import { approval } from "./approvals.ts";
import {
	doc,
	flag,
	integer,
	list,
	literals,
	message,
	milliseconds,
	named,
	nullable,
	object,
	offset,
	optional,
	record,
	type Schema,
	string,
	text,
	yes,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { shellCommand } from "./shell.ts";
import { exit, overview } from "./states.ts";

const types = [
	"created",
	"exited",
	"closed",
	"lost",
	"removed",
	"waiting",
	"ready",
	"command",
	"quiet",
	"approval",
	"changed",
	"secret",
	"agent",
] as const;
const feedType = named(
	"FeedType",
	"A type of event to select. `failed` selects `lost`, and `exited` after a failure.",
	literals(...types, "failed"),
);

export const feedSession: Schema = message("FeedSession", "The session of an event.", {
	id: text,
	name: nullable(text),
	workspace: text,
	task: optional(text),
	labels: optional(doc("Left out if there are none.", record(text))),
});

export const feedEvent: Schema = message("FeedEvent", "Something that happened to a session.", {
	type: named(
		"FeedEventType",
		"`waiting`: a program waits for input; `ready`: a shell waits for a command; `command`: a command of a shell has ended; `agent`: the state of a coding agent, or its dialog, has changed. `quiet` and `changed` are sent only if the request asks for them.",
		literals(...types),
	),
	time: milliseconds,
	session: feedSession,
	exit: optional(doc("With `exited`.", exit)),
	failed: doc(
		"With `exited`: the program failed. It was not ended by a caller, and it is not a shell that a user left.",
		yes,
	),
	offset: optional(doc("With `waiting`, `ready` and `quiet`: the end of the output.", offset)),
	kind: optional(doc("With `waiting` and `ready`: the awaited input, `line`, `secret`, `key` or `tui`.", text)),
	prompt: optional(doc("With `waiting` and `ready`: the line before the cursor.", text)),
	program: optional(doc("With `waiting` and `ready`: the program that waits.", text)),
	command: optional(doc("With `command`.", shellCommand)),
	quietMs: optional(doc("With `quiet`: the time without output.", integer(0))),
	approval: optional(
		doc(
			"With `approval`: an action that is held or was decided. Reported to callers that may operate the session, and to the one that wants it.",
			approval,
		),
	),
	overview: optional(doc("With `changed`.", overview)),
	agent: optional(doc("With `agent`. Null once there is none.", nullable(agent))),
	secret: optional(
		doc(
			"With `secret`: a request and its status.",
			object({
				id: text,
				status: literals("asked", "given", "refused", "expired"),
				name: nullable(text),
				by: doc("The caller that answered it.", nullable(text)),
			}),
		),
	),
});

const nothing = message("NothingMore", "No data.", {});

export const feedOperations: OperationTable = {
	followEvents: {
		summary: "Follow what happens to all sessions",
		route: "GET /v1/events",
		right: "read",
		headers: ["last-event-id"],
		query: {
			since: optional(
				doc(
					"The cursor of the last event that the caller has. The header `Last-Event-ID` overrides it. New events only by default.",
					string({ maxLength: 64 }),
				),
			),
			overview: doc("Report `changed` events.", flag),
			type: optional(doc("Only these types. `failed` is an `exited` with `failed`, and `lost`.", list(feedType))),
			quietMs: optional(
				doc(
					"Report `quiet` after this time without output; 60000 with `type=quiet` alone.",
					integer(limits.minQuietMs, limits.maxQuietMs),
				),
			),
			workspace: optional(doc("Only sessions of this workspace.", text)),
			task: optional(doc("Only sessions started for this task.", text)),
			name: optional(doc("Only sessions with exactly this name.", text)),
			label: optional(doc("`key` or `key=value`. All must match.", list(text))),
		},
		content: ["text/event-stream"],
		events: { begin: nothing, gap: nothing, ...Object.fromEntries(types.map((type) => [type, feedEvent])) },
	},
};
