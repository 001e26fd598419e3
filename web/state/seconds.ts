/** Whether a time is shown that is told in seconds, and so changes each second. */

import { isActive, isEnded, type Listed, lastActive, type Needing } from "hawser/client";

/** From here on, times are told in minutes. */
const MINUTE_MS = 60_000;

export function areSecondsShown(all: Iterable<Listed>, needing: readonly Needing[], now: number): boolean {
	const isNew = (time: number) => now - time < MINUTE_MS;
	const isCounted = ({ need }: Needing) =>
		isNew(need.since) || (need.kind === "approval" && need.approval.expiresAt - now < MINUTE_MS);
	const isYoung = (session: Listed) => {
		if (isEnded(session)) return isNew(session.endedAt ?? session.createdAt);
		// What is active is called so, without a time.
		return isNew(session.createdAt) || (!isActive(session, now) && isNew(lastActive(session)));
	};
	if (needing.some(isCounted)) return true;
	for (const session of all) if (isYoung(session)) return true;
	return false;
}
