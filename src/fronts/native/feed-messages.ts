/** How the feed of all sessions is asked for, and what it says. */

import Type, { type TSchema, type TUnsafe } from "typebox";
import type { FeedEvent, FeedType } from "../../protocol/feed.ts";
import { limits } from "../../protocol/messages.ts";
import { approval } from "./approval-messages.ts";
import { overview } from "./overview-messages.ts";
import { closed, exit, flag, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";
import { shellCommand } from "./shell-messages.ts";

const feedType = Type.Union([
	Type.Literal("created"),
	Type.Literal("exited"),
	Type.Literal("closed"),
	Type.Literal("lost"),
	Type.Literal("removed"),
	Type.Literal("waiting"),
	Type.Literal("ready"),
	Type.Literal("command"),
	Type.Literal("quiet"),
	Type.Literal("approval"),
	Type.Literal("changed"),
	Type.Literal("secret"),
]);

export type EventsQuery = {
	since?: string;
	overview?: "0" | "1";
	type?: FeedType[];
	quietMs?: number;
	workspace?: string;
	task?: string;
	name?: string;
	label?: string[];
};
export const eventsQuery: TUnsafe<EventsQuery> = schemaOf<EventsQuery>()(
	Type.Object(
		{
			since: Type.Optional(Type.String({ maxLength: 64 })),
			overview: Type.Optional(flag),
			type: Type.Optional(Type.Array(Type.Union([...feedType.anyOf, Type.Literal("failed")]))),
			quietMs: Type.Optional(Type.Integer({ minimum: limits.minQuietMs, maximum: limits.maxQuietMs })),
			workspace: Type.Optional(Type.String()),
			task: Type.Optional(Type.String()),
			name: Type.Optional(Type.String()),
			label: Type.Optional(Type.Array(Type.String())),
		},
		closed,
	),
);

export const feedSession: TUnsafe<FeedEvent["session"]> = schemaOf<FeedEvent["session"]>()(
	Type.Object({
		id: Type.String(),
		name: nullable(Type.String()),
		workspace: Type.String(),
		task: Type.Optional(Type.String()),
		labels: Type.Optional(Type.Record(Type.String(), Type.String())),
	}),
);

export const feedEvent: TUnsafe<FeedEvent> = schemaOf<FeedEvent>()(
	Type.Object(
		{
			type: feedType,
			time: milliseconds,
			session: feedSession,
			exit: Type.Optional(exit),
			failed: Type.Optional(Type.Literal(true)),
			offset: Type.Optional(offset),
			kind: Type.Optional(Type.String()),
			prompt: Type.Optional(Type.String()),
			program: Type.Optional(Type.String()),
			command: Type.Optional(shellCommand),
			quietMs: Type.Optional(Type.Integer()),
			approval: Type.Optional(approval),
			overview: Type.Optional(overview),
			secret: Type.Optional(
				Type.Object({
					id: Type.String(),
					status: Type.Union([
						Type.Literal("asked"),
						Type.Literal("given"),
						Type.Literal("refused"),
						Type.Literal("expired"),
					]),
					name: nullable(Type.String()),
					by: nullable(Type.String()),
				}),
			),
		},
		{ title: "Event" },
	),
);
const nothing = Type.Object({}, { title: "NothingMore" });

/** The same for the feed of all sessions. */
export const feedEventSchemas: Readonly<Record<string, TSchema>> = {
	begin: nothing,
	gap: nothing,
	...Object.fromEntries(feedType.anyOf.map(({ const: type }) => [type, feedEvent])),
};
