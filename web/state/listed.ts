/** A session as lists show it, and what news of it change. */

import type { FeedEvent, SessionMessage } from "hawser/client";

/** With how it looks, as soon as that is known. */
export type Listed = SessionMessage;

export function isEnded({ state }: Pick<SessionMessage, "state">): boolean {
	return state !== "running";
}

/** What the news say by themselves: its name, and how it looks. */
export function withNews(session: Listed, { overview, session: { name } }: FeedEvent): Listed {
	return { ...session, name, ...(overview ? { overview } : {}) };
}

/** Whether the session must be asked for again: it has begun, or has ended. */
export function isStale({ type }: FeedEvent): boolean {
	return type === "created" || type === "exited" || type === "closed" || type === "lost";
}
