/** Which sessions are listed, and in which order: pure. */

import { byUrgency, type Circumstances, isEnded, type Listed, type Needing, needOf } from "./attention.ts";

export type Wanted = {
	/** Words, each of which is in a name, a command, a directory, a label or an id. */
	readonly q: string;
	/** All, if left out. */
	readonly workspace: string | undefined;
	/** Each is `key` or `key=value`, and all must hold. */
	readonly labels: readonly string[];
};

/** All words of the query must be in it somewhere. */
export function matches(session: Listed, { q, workspace, labels }: Wanted): boolean {
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
export function grouped(sessions: Iterable<Listed>, wanted: Wanted, circumstances: Circumstances): Grouped {
	const needing: Needing[] = [];
	const running: Listed[] = [];
	const ended: Listed[] = [];
	for (const session of sessions) {
		if (!matches(session, wanted)) continue;
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

/** Those that were there keep their order, and who came since is behind them. */
export function heldInOrder<One>(order: readonly string[], all: readonly One[], idOf: (one: One) => string): One[] {
	const byId = new Map(all.map((one) => [idOf(one), one]));
	const held: One[] = [];
	for (const id of order) {
		const one = byId.get(id);
		if (one !== undefined) held.push(one);
		byId.delete(id);
	}
	return [...held, ...byId.values()];
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
