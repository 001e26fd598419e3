/** Labels worth filtering by. */

import type { SessionInfo } from "hawser/client";

/** The most frequent labels. */
export function commonLabels(sessions: Iterable<SessionInfo>, most: number): { label: string; count: number }[] {
	const counts = new Map<string, number>();
	for (const { labels } of sessions) {
		for (const [key, value] of Object.entries(labels)) {
			const label = `${key}=${value}`;
			counts.set(label, (counts.get(label) ?? 0) + 1);
		}
	}
	const found = [...counts].map(([label, count]) => ({ label, count }));
	return found.sort((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1)).slice(0, most);
}
