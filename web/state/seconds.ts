/** Whether any displayed age is in seconds, and so changes every second. */

import { isActive, isEnded, lastActiveAt, type SessionInfo, type SessionNeed } from "hawser/client";

/** Ages from here on are shown in minutes. */
const MINUTE_MS = 60_000;

export function showsSeconds(all: Iterable<SessionInfo>, needing: readonly SessionNeed[], now: number): boolean {
	const isNew = (time: number) => now - time < MINUTE_MS;
	const isCounted = ({ need }: SessionNeed) =>
		isNew(need.since) || (need.kind === "approval" && need.approval.expiresAt - now < MINUTE_MS);
	const isYoung = (session: SessionInfo) => {
		if (isEnded(session)) return isNew(session.endedAt ?? session.createdAt);
		const { agent } = session.overview ?? {};
		if (agent) return isNew(session.createdAt) || (agent.state === "idle" && isNew(agent.since));
		// An active session shows no age.
		return isNew(session.createdAt) || (!isActive(session, now) && isNew(lastActiveAt(session)));
	};
	if (needing.some(isCounted)) return true;
	for (const session of all) if (isYoung(session)) return true;
	return false;
}
