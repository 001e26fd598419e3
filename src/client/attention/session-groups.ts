/** Selects and orders the listed sessions. Pure functions. */

import { compareNeeds, isEnded, type NeedContext, needOf, type SessionInfo, type SessionNeed } from "./needs.ts";

export type SessionFilter = {
	/** Words; each must occur in a name, command, directory, label or ID. */
	readonly q: string;
	/** Undefined means all workspaces. */
	readonly workspace: string | undefined;
	/** Each is `key` or `key=value`; all must match. */
	readonly labels: readonly string[];
};

/** Whether all words of the query match. */
export function matchesFilter(session: SessionInfo, { q, workspace, labels }: SessionFilter): boolean {
	if (workspace !== undefined && session.workspace !== workspace) return false;
	if (!labels.every((label) => hasLabel(session, label))) return false;
	const text = textOf(session);
	return searchWords(q).every((word) => text.includes(word));
}

export type SessionGroups = {
	readonly needing: readonly SessionNeed[];
	readonly running: readonly SessionInfo[];
	readonly ended: readonly SessionInfo[];
};

/** Each session is in one group. The order within a group is newest first, and does not change with activity. */
export function groupSessions(
	sessions: Iterable<SessionInfo>,
	wanted: SessionFilter,
	circumstances: NeedContext,
): SessionGroups {
	const needing: SessionNeed[] = [];
	const running: SessionInfo[] = [];
	const ended: SessionInfo[] = [];
	for (const session of sessions) {
		if (!matchesFilter(session, wanted)) continue;
		const need = needOf(session, circumstances);
		if (need) needing.push({ session, need });
		else if (isEnded(session)) ended.push(session);
		else running.push(session);
	}
	return {
		needing: needing.sort(compareNeeds),
		running: running.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)),
		ended: ended.sort((a, b) => (b.endedAt ?? b.createdAt) - (a.endedAt ?? a.createdAt) || (a.id < b.id ? -1 : 1)),
	};
}

/** Keeps the order of known items, and appends new ones. */
export function keepOrder<One>(order: readonly string[], all: readonly One[], idOf: (one: One) => string): One[] {
	const byId = new Map(all.map((one) => [idOf(one), one]));
	const held: One[] = [];
	for (const id of order) {
		const one = byId.get(id);
		if (one !== undefined) held.push(one);
		byId.delete(id);
	}
	return [...held, ...byId.values()];
}

function hasLabel({ labels }: SessionInfo, wanted: string): boolean {
	const [key = "", ...value] = wanted.split("=");
	return Object.hasOwn(labels, key) && (value.length === 0 || labels[key] === value.join("="));
}

export function searchWords(query: string): string[] {
	return query.toLowerCase().split(/\s+/).filter(Boolean);
}

function textOf({ name, id, argv, cwd, labels }: SessionInfo): string {
	const labelled = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
	return [name ?? "", id, ...argv, cwd, ...labelled].join("\n").toLowerCase();
}
