/** How the feed of all sessions is asked for, and what it says. */

import Type, { type TSchema, type TUnsafe } from "typebox";
import type { FeedEvent } from "../../protocol/messages.ts";
import { overview } from "./overview-messages.ts";
import { closed, exit, flag, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

export type EventsQuery = { since?: string; overview?: "0" | "1" };
export const eventsQuery: TUnsafe<EventsQuery> = schemaOf<EventsQuery>()(
	Type.Object({ since: Type.Optional(Type.String({ maxLength: 64 })), overview: Type.Optional(flag) }, closed),
);

const feedEvent: TUnsafe<FeedEvent> = schemaOf<FeedEvent>()(
	Type.Object(
		{
			type: Type.Union([
				Type.Literal("created"),
				Type.Literal("exited"),
				Type.Literal("closed"),
				Type.Literal("lost"),
				Type.Literal("removed"),
				Type.Literal("waiting"),
				Type.Literal("ready"),
				Type.Literal("changed"),
			]),
			time: milliseconds,
			session: Type.Object({ id: Type.String(), name: nullable(Type.String()), workspace: Type.String() }),
			exit: Type.Optional(exit),
			offset: Type.Optional(offset),
			kind: Type.Optional(Type.String()),
			prompt: Type.Optional(Type.String()),
			program: Type.Optional(Type.String()),
			overview: Type.Optional(overview),
		},
		{ title: "Event" },
	),
);
const nothing = Type.Object({}, { title: "NothingMore" });

/** The same for the feed of all sessions. */
export const feedEventSchemas: Readonly<Record<string, TSchema>> = {
	begin: nothing,
	gap: nothing,
	created: feedEvent,
	exited: feedEvent,
	closed: feedEvent,
	lost: feedEvent,
	removed: feedEvent,
	waiting: feedEvent,
	ready: feedEvent,
	changed: feedEvent,
};
