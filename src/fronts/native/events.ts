/** The feed of all sessions over HTTP, each caller seeing what it may read. */

import type { FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import type { FeedEvent } from "../../protocol/messages.ts";
import { type Hosting, witnessOf } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { lastEventId, type StreamEvent, sendEvents } from "./event-stream.ts";
import type { Feed, FeedFollowing } from "./feed.ts";
import { eventsQuery, feedEventSchemas } from "./feed-messages.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp } from "./options.ts";

export function addEvents(app: NativeApp, feed: Feed, hosting: Hosting, traffic: Traffic): void {
	app.get(
		"/v1/events",
		{
			config: {
				policy: "read",
				operation: "followEvents",
				summary: "Follow what happens to all sessions",
				headers: ["last-event-id"],
				answers: { 200: "text/event-stream" },
				events: feedEventSchemas,
			},
			schema: { querystring: eventsQuery },
		},
		(request, reply) => {
			const patience = patienceOf(reply, hosting);
			const since = lastEventId(reply) ?? request.query.since;
			const withOverviews = request.query.overview === "1";
			const onRead = readOnce(request);
			const { signal } = patience;
			const events = visible(feed, { since, principal: request.principal, signal, withOverviews, onRead });
			return sendEvents(reply, events, { patience, traffic });
		},
	);
}

type Viewer = {
	readonly since: string | undefined;
	readonly principal: Principal | null;
	/** Hears of each session of whose output something is told. */
	readonly onRead: (session: FeedEvent["session"]) => void;
} & FeedFollowing;

/** Records that a session was read, when the first line of it is told. */
function readOnce(request: FastifyRequest): Viewer["onRead"] {
	const told = new Set<string>();
	return ({ id, workspace }) => {
		if (told.has(id)) return;
		told.add(id);
		witnessOf(request).record({ action: "read" }, { workspace, session: id });
	};
}

async function* visible(
	feed: Feed,
	{ since, principal, onRead, ...how }: Viewer,
): AsyncGenerator<StreamEvent, void, void> {
	const mayRead = ({ session }: FeedEvent) =>
		principal?.may("read", { workspace: session.workspace, session: session.id }) === true;
	// Tells where the caller stands before anything has happened, so that it can come back to exactly here.
	if (since === undefined) yield { event: "begin", id: feed.end, data: {} };
	for await (const { cursor, event } of feed.follow(since ?? feed.end, how)) {
		if (!event) yield { event: "gap", id: cursor, data: {} };
		else if (mayRead(event)) {
			if (event.overview) onRead(event.session);
			yield { event: event.type, id: cursor, data: event };
		}
	}
}
