/** The feed of all sessions over HTTP, each caller seeing what it may read. */

import type { FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { mayKnow } from "../../core/approvals.ts";
import type { FeedEvent } from "../../protocol/feed.ts";
import { limits } from "../../protocol/messages.ts";
import { type Hosting, witnessOf } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { lastEventId, type StreamEvent, sendEvents } from "./event-stream.ts";
import type { Feed, FeedFollowing } from "./feed.ts";
import { type FeedFilter, isWanted } from "./feed-filter.ts";
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
			const {
				overview,
				type,
				quietMs = type?.includes("quiet") ? limits.quietMs : undefined,
				...filter
			} = request.query;
			const { principal } = request;
			if (quietMs !== undefined) feed.checkQuiet(quietMs, principal);
			const { signal } = patience;
			const how = { signal, withOverviews: overview === "1", quietMs, account: principal?.account };
			const passed = { cursor: since };
			const viewer = { since, principal, filter: { ...filter, type }, onRead: readOnce(request), passed };
			return sendEvents(reply, visible(feed, viewer, how), { patience, traffic, place: () => passed.cursor });
		},
	);
}

type Viewer = {
	readonly since: string | undefined;
	readonly principal: Principal | null;
	readonly filter: FeedFilter;
	/** Hears of each session of whose output something is told. */
	readonly onRead: (session: FeedEvent["session"]) => void;
	/** How far it is, over what it was not told, too. */
	readonly passed: { cursor: string | undefined };
};

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
	{ since, principal, filter, onRead, passed }: Viewer,
	how: FeedFollowing,
): AsyncGenerator<StreamEvent, void, void> {
	const mayRead = ({ session, approval }: FeedEvent) => {
		if (approval) return principal !== null && mayKnow(principal, approval);
		return principal?.may("read", { workspace: session.workspace, session: session.id }) === true;
	};
	const begin = feed.end;
	// Tells where the caller stands before anything has happened, so that it can come back to exactly here.
	if (since === undefined) yield { event: "begin", id: begin, data: {} };
	for await (const { cursor, event } of feed.follow(since ?? begin, how)) {
		passed.cursor = cursor;
		if (!event) yield { event: "gap", id: cursor, data: {} };
		else if (mayRead(event) && isWanted(event, filter)) {
			if (event.overview) onRead(event.session);
			yield { event: event.type, id: cursor, data: event };
		}
	}
}
