/** Which sessions are shown, and in which order: pure. */

import { byUrgency, type Circumstances, type Needing, needOf } from "./attention.ts";
import { isEnded, type Listed } from "./listed.ts";
import type { Filter } from "./route.ts";

/** All words of the query must be in it somewhere. */
export function matches(session: Listed, { q, workspace, labels }: Filter): boolean {
	if (workspace !== undefined && session.workspace !== workspace) return false;
	if (!labels.every((label) => hasLabel(session, label))) return false;
	const text = textOf(session);
	return wordsOf(q).every((word) => text.includes(word));
}

export type Grouped = {
	readonly needing: readonly Needing[];
	readonly running: readonly Listed[];
	readonly ended: readonly Listed[];
};

/** Each is in one group. Rows keep their places while they are in one: the newest are first, whatever they do. */
export function grouped(sessions: Iterable<Listed>, filter: Filter, circumstances: Circumstances): Grouped {
	const needing: Needing[] = [];
	const running: Listed[] = [];
	const ended: Listed[] = [];
	for (const session of sessions) {
		if (!matches(session, filter)) continue;
		const need = needOf(session, circumstances);
		if (need) needing.push({ session, need });
		else if (isEnded(session)) ended.push(session);
		else running.push(session);
	}
	return {
		needing: needing.sort(byUrgency),
		running: running.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)),
		ended: ended.sort((a, b) => (b.endedAt ?? b.createdAt) - (a.endedAt ?? a.createdAt) || (a.id < b.id ? -1 : 1)),
	};
}

/** The labels that most sessions have, to filter by. */
export function commonLabels(sessions: Iterable<Listed>, most: number): { label: string; count: number }[] {
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

function hasLabel({ labels }: Listed, wanted: string): boolean {
	const [key = "", ...value] = wanted.split("=");
	return Object.hasOwn(labels, key) && (value.length === 0 || labels[key] === value.join("="));
}

export function wordsOf(query: string): string[] {
	return query.toLowerCase().split(/\s+/).filter(Boolean);
}

function textOf({ name, id, argv, cwd, labels }: Listed): string {
	const labelled = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
	return [name ?? "", id, ...argv, cwd, ...labelled].join("\n").toLowerCase();
}
