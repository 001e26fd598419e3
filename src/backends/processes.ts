/** Which processes there are, from /proc, and which of them belong together. */

import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { minderFile } from "../native/minder.ts";
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
	readonly #parents = new Map(this.all.map(({ pid, parent }) => [pid, parent]));
	readonly #environments = new Map<number, string>();
	/** Those above us too: within a session, a server's own sessions are its own all the same. */
	readonly #ours = new Set(this.#above(process.ppid));

	/** As `environmentOf` says, looked up once: whoever shares this look shares that too. */
	environment(pid: number): string {
		const known = this.#environments.get(pid) ?? environmentOf(pid);
		this.#environments.set(pid, known);
		return known;
	}

	/** Whose minder a process is, if it is one. */
	minderOf(pid: number): string | undefined {
		return mindedBy(pid, this.environment(pid));
	}

	/** Whether a process belongs to another session, whatever it carries: that session's minder is above it. */
	isOfOther(sessionId: string, { pid }: Living): boolean {
		return this.#above(pid).some((above) => {
			const minded = this.#ours.has(above) ? undefined : this.minderOf(above);
			return minded !== undefined && minded !== sessionId;
		});
	}

	/** A process and those above it. */
	#above(pid: number): number[] {
		const found = new Set<number>();
		for (let next: number | undefined = pid; next !== undefined && !found.has(next); next = this.#parents.get(next)) {
			found.add(next);
		}
		return [...found];
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
function withDescendants(roots: Iterable<Living>, all: readonly Living[]): Living[] {
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

/** What belongs to a session as far as can be seen from outside: processes that carry its marker, and all below them. */
export function membersOf(sessionId: string, snapshot: Snapshot): Living[] {
	const mark = `\0${marker}=${sessionId}\0`;
	const carriers = snapshot.all.filter(({ pid }) => snapshot.environment(pid).includes(mark));
	return withDescendants(
		carriers.filter((process) => !snapshot.isOfOther(sessionId, process)),
		snapshot.all,
	);
}

/** The minder of a session's program. */
export function mindersOf(sessionId: string, snapshot: Snapshot): Living[] {
	return snapshot.all.filter(
		(process) => snapshot.minderOf(process.pid) === sessionId && !snapshot.isOfOther(sessionId, process),
	);
}

/** A process, if it is the minder of a session's program. */
export function findMinder(pid: number, sessionId: string): Living | undefined {
	return mindedBy(pid, environmentOf(pid)) === sessionId ? findProcess(pid) : undefined;
}

/** Whose minder a process is, if it is one: anybody can carry the mark, but only minders run our minder. */
function mindedBy(pid: number, environment: string): string | undefined {
	const mark = `\0${minderMarker}=`;
	if (!environment.startsWith(mark) || !runsMinder(pid)) return undefined;
	// One that still waits for its order has blanks there.
	return environment.slice(mark.length, environment.indexOf("\0", mark.length)).trim() || undefined;
}

function runsMinder(pid: number): boolean {
	// After an upgrade those that were started before it run a file that is gone.
	const file = read(() => readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, "");
	return file !== "" && (file === minderFile || file === read(() => realpathSync(minderFile)));
}

/** What a process was started with, each variable between two NULs, as far as we may see it. */
function environmentOf(pid: number): string {
	return `\0${readText(`/proc/${pid}/environ`)}`;
}

/** Whether a process found earlier still runs. */
export function isLeft({ pid, startTime }: Living): boolean {
	return findProcess(pid)?.startTime === startTime;
}

/** What says that a process is gone, or not ours to look at; anything else (no descriptor free) must not pass for it. */
const absent = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

function readText(path: string): string {
	return read(() => readFileSync(path, "latin1"));
}

/** Nothing where there is nothing for us. */
function read(from: () => string): string {
	try {
		return from();
	} catch (thrown) {
		if (absent.has((thrown as NodeJS.ErrnoException).code ?? "")) return "";
		throw thrown;
	}
}
