/** Lists processes from /proc, and finds those that belong to a session. */

import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { minderFile } from "../native/minder.ts";
import { MINDER_VARIABLE, SESSION_VARIABLE } from "./environment.ts";

/** A living process. The pid and start time together are unique. */
export type RunningProcess = {
	readonly pid: number;
	readonly parent: number;
	/** Its process group. */
	readonly group: number;
	readonly session: number;
	/** In clock ticks since boot. */
	readonly startTime: number;
};

/** All running processes. It is not atomic: a process that forks meanwhile may be missed, so callers look twice. */
export function listProcesses(): RunningProcess[] {
	return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (findProcess(Number(name)) ?? []) : []));
}

/** A snapshot of all processes. Environments are read on demand. */
export class ProcessTable {
	readonly all: readonly RunningProcess[] = listProcesses().filter(({ pid }) => pid !== process.pid);
	readonly #parents = new Map(this.all.map(({ pid, parent }) => [pid, parent]));
	readonly #environments = new Map<number, string>();
	/** Our ancestors. A server inside a session still owns its own sessions. */
	readonly #ours = new Set(this.#above(process.ppid));

	/** The environment of a process, read once per snapshot. */
	environment(pid: number): string {
		const known = this.#environments.get(pid) ?? environmentOf(pid);
		this.#environments.set(pid, known);
		return known;
	}

	/** The session that a process is the minder of, if it is a minder. */
	minderOf(pid: number): string | undefined {
		return mindedBy(pid, this.environment(pid));
	}

	/** Whether a process is below the minder of another session, whatever markers it carries. */
	isOfOther(sessionId: string, { pid }: RunningProcess): boolean {
		return this.#above(pid).some((above) => {
			const minded = this.#ours.has(above) ? undefined : this.minderOf(above);
			return minded !== undefined && minded !== sessionId;
		});
	}

	/** A process and its ancestors. */
	#above(pid: number): number[] {
		const found = new Set<number>();
		for (let next: number | undefined = pid; next !== undefined && !found.has(next); next = this.#parents.get(next)) {
			found.add(next);
		}
		return [...found];
	}
}

let upcoming: Promise<ProcessTable> | undefined;

/** A snapshot taken after this call. Calls in the same turn share it, so that killing many sessions costs one scan. */
export function readProcessTable(): Promise<ProcessTable> {
	upcoming ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
		upcoming = undefined;
		return new ProcessTable();
	});
	return upcoming;
}

/** A process, unless it is gone or a zombie. */
export function findProcess(pid: number): RunningProcess | undefined {
	const text = readText(`/proc/${pid}/stat`);
	// The name in parentheses may contain any character, so fields count from the last parenthesis.
	const [state, parent, group, session, , , , , , , , , , , , , , threads, , startTime] = text
		.slice(text.lastIndexOf(")") + 2)
		.split(" ");
	// A zombie with more threads is alive: only its first thread has ended.
	if (startTime === undefined || state === "X" || (state === "Z" && Number(threads) < 2)) return undefined;
	return {
		pid,
		parent: Number(parent),
		group: Number(group),
		session: Number(session),
		startTime: Number(startTime),
	};
}

/** Processes and all their descendants. */
function withDescendants(roots: Iterable<RunningProcess>, all: readonly RunningProcess[]): RunningProcess[] {
	const children = new Map<number, RunningProcess[]>();
	for (const process of all) {
		const siblings = children.get(process.parent);
		if (siblings === undefined) children.set(process.parent, [process]);
		else siblings.push(process);
	}
	const found = new Map<number, RunningProcess>();
	const open = [...roots];
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		if (found.has(next.pid)) continue;
		found.set(next.pid, next);
		open.push(...(children.get(next.pid) ?? []));
	}
	return [...found.values()];
}

/** All descendants of a process. Complete if that process is a child subreaper. */
export function descendants(of: number, all: readonly RunningProcess[]): RunningProcess[] {
	return withDescendants(
		all.filter((process) => process.parent === of),
		all,
	);
}

/** The processes of a session as seen from outside: those that carry its marker, and their descendants. */
export function membersOf(sessionId: string, snapshot: ProcessTable): RunningProcess[] {
	const mark = `\0${SESSION_VARIABLE}=${sessionId}\0`;
	const carriers = snapshot.all.filter(({ pid }) => snapshot.environment(pid).includes(mark));
	return withDescendants(
		carriers.filter((process) => !snapshot.isOfOther(sessionId, process)),
		snapshot.all,
	);
}

/** The minders of a session's program. */
export function mindersOf(sessionId: string, snapshot: ProcessTable): RunningProcess[] {
	return snapshot.all.filter(
		(process) => snapshot.minderOf(process.pid) === sessionId && !snapshot.isOfOther(sessionId, process),
	);
}

/** Returns the process if it is the minder of this session. */
export function findMinder(pid: number, sessionId: string): RunningProcess | undefined {
	return mindedBy(pid, environmentOf(pid)) === sessionId ? findProcess(pid) : undefined;
}

/** The session that a process is the minder of, if it is a minder. */
export function minderOf(pid: number): string | undefined {
	return mindedBy(pid, environmentOf(pid));
}

/** The same from its environment. Any process can carry the marker, but only minders run our executable. */
function mindedBy(pid: number, environment: string): string | undefined {
	const mark = `\0${MINDER_VARIABLE}=`;
	if (!environment.startsWith(mark) || !runsMinder(pid)) return undefined;
	// A minder that still waits for an order has blanks there.
	return environment.slice(mark.length, environment.indexOf("\0", mark.length)).trim() || undefined;
}

function runsMinder(pid: number): boolean {
	// After an upgrade, older minders run a deleted file.
	const file = read(() => readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, "");
	return file !== "" && (file === minderFile || file === read(() => realpathSync(minderFile)));
}

/** The initial environment of a process with a NUL before and after each variable; only NUL if we may not read it. */
function environmentOf(pid: number): string {
	return `\0${readText(`/proc/${pid}/environ`)}`;
}

/** Whether a process found earlier is still running. */
export function isLeft({ pid, startTime }: RunningProcess): boolean {
	return findProcess(pid)?.startTime === startTime;
}

/**
 * Errors that mean that a process is gone or not ours. Others, such as no free descriptor, must not be mistaken for
 * that.
 */
const absent = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

function readText(path: string): string {
	return read(() => readFileSync(path, "latin1"));
}

/** Reads a file of /proc; "" if the process is gone or not ours. */
function read(from: () => string): string {
	try {
		return from();
	} catch (thrown) {
		if (absent.has((thrown as NodeJS.ErrnoException).code ?? "")) return "";
		throw thrown;
	}
}
