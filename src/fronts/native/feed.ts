/** The feed of all sessions over HTTP. Each caller gets the events of sessions that it may read. */

import type { FastifyRequest } from "fastify";
import { limits } from "../../api/messages.ts";
import type { FeedEvent } from "../../api/types.ts";
import type { Principal } from "../../core/policy/access.ts";
import { mayKnow } from "../../core/policy/approvals.ts";
import { auditedCallerOf } from "../../http/caller.ts";
import { lastEventId, type StreamEvent, sendEvents } from "../../http/event-stream.ts";
import type { Feed, FollowFeedOptions } from "../../services/feed/feed.ts";
import { type FeedFilter, matchesFilter } from "../../services/feed/filter.ts";
import type { TrafficCounters } from "../../services/metrics/traffic.ts";
import type { Serve } from "./serve.ts";

export function addEvents(serve: Serve, feed: Feed, traffic: TrafficCounters): void {
	serve("followEvents", async ({ request, reply, caller: principal, query, signal }) => {
		const since = lastEventId(reply) ?? query.since;
		const { overview, type, quietMs = type?.includes("quiet") ? limits.quietMs : undefined, ...filter } = query;
		if (quietMs !== undefined) feed.checkQuiet(quietMs, principal);
		const options = { signal, withOverviews: overview === "1", quietMs, by: principal };
		const passed = { cursor: since };
		const viewer = { since, principal, filter: { ...filter, type }, onRead: readOnce(request), passed };
		return sendEvents(reply, visible(feed, viewer, options), { traffic, place: () => passed.cursor });
	});
}

type Viewer = {
	readonly since: string | undefined;
	readonly principal: Principal;
	readonly filter: FeedFilter;
	/** Called for each session whose last output line is sent. */
	readonly onRead: (session: FeedEvent["session"]) => void;
	/** The cursor of the last event, including filtered ones. */
	readonly passed: { cursor: string | undefined };
};

/** Records once per stream that a session was read. */
function readOnce(request: FastifyRequest): Viewer["onRead"] {
	const seen = new Set<string>();
	return ({ id, workspace }) => {
		if (seen.has(id)) return;
		seen.add(id);
		auditedCallerOf(request).record({ action: "read" }, { workspace, session: id });
	};
}

async function* visible(
	feed: Feed,
	{ since, principal, filter, onRead, passed }: Viewer,
	options: FollowFeedOptions,
): AsyncGenerator<StreamEvent, void, void> {
	const mayRead = ({ session, approval }: FeedEvent) => {
		if (approval) return mayKnow(principal, approval);
		return principal.may("read", { workspace: session.workspace, session: session.id });
	};
	const begin = feed.end;
	// Gives the caller a cursor before the first event, so that it can resume exactly here.
	if (since === undefined) yield { event: "begin", id: begin, data: {} };
	for await (const { cursor, event } of feed.follow(since ?? begin, options)) {
		passed.cursor = cursor;
		if (!event) yield { event: "gap", id: cursor, data: {} };
		else if (mayRead(event) && matchesFilter(event, filter)) {
			if (event.overview) onRead(event.session);
			yield { event: event.type, id: cursor, data: event };
		}
	}
}
