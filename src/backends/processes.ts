/** Which processes there are, from /proc, and which of them belong together. */

import { readdirSync, readFileSync } from "node:fs";
import { marker, minderMarker } from "./environment.ts";

/** A living process; pid and start time together are never used again. */
export type Living = {
	readonly pid: number;
	readonly parent: number;
	readonly session: number;
	/** In clock ticks since boot. */
	readonly startTime: number;
};

/** Everything that runs now. Not one moment's picture: who forks while we read may be missed, so look twice. */
export function living(): Living[] {
	return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (findProcess(Number(name)) ?? []) : []));
}

/** A look at everything, with environments looked up where they are asked for. */
export class Snapshot {
	readonly all: readonly Living[] = living().filter(({ pid }) => pid !== process.pid);
	readonly #environments = new Map<number, string>();

	/** Whether a process was started with this in its environment, as far as we may see it. */
	carries(pid: number, name: string, value: string): boolean {
		let environment = this.#environments.get(pid);
		if (environment === undefined) {
			environment = `\0${readText(`/proc/${pid}/environ`)}`;
			this.#environments.set(pid, environment);
		}
		return environment.includes(`\0${name}=${value}\0`);
	}
}

let upcoming: Promise<Snapshot> | undefined;

/** A snapshot taken after this call. Whoever asks in the same turn shares it: ending many sessions at once costs no more looks than ending one. */
export function snapshot(): Promise<Snapshot> {
	upcoming ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
		upcoming = undefined;
		return new Snapshot();
	});
	return upcoming;
}

/** One process, unless it is gone or only waits to be reaped. */
export function findProcess(pid: number): Living | undefined {
	const text = readText(`/proc/${pid}/stat`);
	// The name in brackets may hold anything, brackets too; the fields count from its last bracket.
	const [state, parent, , session, , , , , , , , , , , , , , threads, , startTime] = text
		.slice(text.lastIndexOf(")") + 2)
		.split(" ");
	// A zombie with threads left is alive: only its first thread has ended.
	if (startTime === undefined || state === "X" || (state === "Z" && Number(threads) < 2)) return undefined;
	return { pid, parent: Number(parent), session: Number(session), startTime: Number(startTime) };
}

/** Everything below some processes by the chain of parents, and those themselves. */
export function withDescendants(roots: Iterable<Living>, all: readonly Living[]): Living[] {
	const children = new Map<number, Living[]>();
	for (const process of all) {
		const siblings = children.get(process.parent);
		if (siblings === undefined) children.set(process.parent, [process]);
		else siblings.push(process);
	}
	const found = new Map<number, Living>();
	const open = [...roots];
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		if (found.has(next.pid)) continue;
		found.set(next.pid, next);
		open.push(...(children.get(next.pid) ?? []));
	}
	return [...found.values()];
}

/** Everything below a process, without itself. Whole when that process is a child-subreaper, whatever they did. */
export function descendants(of: number, all: readonly Living[]): Living[] {
	return withDescendants(
		all.filter((process) => process.parent === of),
		all,
	);
}

/**
 * What belongs to a session as far as can be seen from outside: processes that carry its marker, those in
 * the terminal sessions of such, those known already, and all their descendants.
 */
export function membersOf(sessionId: string, known: readonly Living[], snapshot: Snapshot): Living[] {
	const { all } = snapshot;
	const sessions = new Set<number>();
	for (const { pid, session } of all) {
		if (!sessions.has(session) && snapshot.carries(pid, marker, sessionId)) sessions.add(session);
	}
	const isKnown = (one: Living) => known.some(({ pid, startTime }) => pid === one.pid && startTime === one.startTime);
	return withDescendants(
		all.filter((process) => sessions.has(process.session) || isKnown(process)),
		all,
	);
}

/** The minder of a session's program. */
export function mindersOf(sessionId: string, snapshot: Snapshot): Living[] {
	return snapshot.all.filter(({ pid }) => snapshot.carries(pid, minderMarker, sessionId));
}

/** Whether a process found earlier still runs. */
export function isLeft({ pid, startTime }: Living): boolean {
	return findProcess(pid)?.startTime === startTime;
}

/** What says that a process is gone, or not ours to look at; anything else (no descriptor free) must not pass for it. */
const absent = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

function readText(path: string): string {
	try {
		return readFileSync(path, "latin1");
	} catch (thrown) {
		if (absent.has((thrown as NodeJS.ErrnoException).code ?? "")) return "";
		throw thrown;
	}
}
