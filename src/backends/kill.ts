/** Kills process trees: first with a signal, then with SIGKILL, until no process is left. */

import { constants } from "node:os";
import { SessionError } from "../core/errors.ts";
import { isNativeError, signalProcess } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import {
	descendants,
	findMinder,
	isLeft,
	membersOf,
	mindersOf,
	type ProcessTable,
	type RunningProcess,
	readProcessTable,
} from "./process-table.ts";

const { SIGCONT, SIGKILL, SIGUSR2 } = constants.signals;

/** @limit from the first signal of a kill to SIGKILL | SIGKILL */
export const defaultGraceMs = 5_000;

/**
 * After SIGKILL only processes that hang in the kernel, or that we may not signal, survive for long.
 * @limit a kill, after SIGKILL | `node_unavailable`; the minder continues
 */
const giveUpMs = 30_000;
/**
 * Time for a minder to kill everything below it, which takes milliseconds unless it was stopped.
 * @limit a minder that should end everything below it, after SIGKILL | the server does it, then kills the minder
 */
const minderMs = 1_000;
/** Delays between checks for killed processes. They grow while processes are left. */
const firstPauseMs = 5;
const longestPauseMs = 250;

/** Some processes of a session survived SIGKILL for the whole time. They may still exit later. */
export class KillTimeoutError extends SessionError {
	constructor(pids: readonly number[]) {
		const which = pids.length === 1 ? `process ${pids[0]}` : `processes ${pids.join(", ")}`;
		super("node_unavailable", `${which} of the session can't be ended`, {
			hint: "they may wait for a disk or file server, or belong to another user; try again later",
		});
	}
}

/** A kill in progress. */
export type Killing = {
	/** Resolves when no process is left. */
	readonly done: Promise<void>;
	/** Another request: its signal is sent too, and the shorter grace period applies. */
	hasten(signo: number, graceMs: number): void;
};

/**
 * Kills everything below a minder: a signal to each process, and SIGKILL after the grace period. The minder does that.
 * If it was stopped it is continued repeatedly, and after its time this process does its work.
 */
export function killTree(minder: Minder, sessionId: string, signo: number, graceMs: number): Killing {
	let deadline = Number.POSITIVE_INFINITY;
	let last: number | undefined;
	let isReplaced = false;
	// Keeps the process alive: a server that shuts down must not exit before this is done.
	let timer: NodeJS.Timeout | undefined;
	let reject: (error: unknown) => void = () => {};
	const givenUp = new Promise<never>((_, refuse) => {
		reject = refuse;
	});

	function send(next: number): void {
		if (next !== last && last !== SIGKILL) minder.signalAll(next);
		last = last === SIGKILL ? last : next;
	}
	function proceed(): void {
		clearTimeout(timer);
		if (isReplaced) return;
		const leftMs = deadline - performance.now();
		if (leftMs <= 0) send(SIGKILL);
		const itself = findItself();
		if (itself) signal(itself, SIGCONT);
		if (itself && leftMs <= -minderMs) {
			isReplaced = true;
			killWithoutMinder(itself, deadline + giveUpMs).catch(reject);
		} else if (leftMs <= -giveUpMs) reject(new KillTimeoutError([minder.pid]));
		else timer = setTimeout(proceed, leftMs > 0 ? Math.min(leftMs, minderMs) : minderMs);
	}
	/**
	 * Undefined when the minder is gone, or when /proc can't be read at the moment, for example without a free
	 * descriptor.
	 */
	function findItself(): RunningProcess | undefined {
		try {
			return findMinder(minder.ownPid, sessionId);
		} catch {
			return undefined;
		}
	}
	function hasten(signo: number, graceMs: number): void {
		const leftMs = signo === SIGKILL ? 0 : graceMs;
		// A program could not react to a signal without a grace period.
		if (leftMs > 0) send(signo);
		deadline = Math.min(deadline, performance.now() + leftMs);
		proceed();
	}

	hasten(signo, graceMs);
	return { done: Promise.race([minder.gone, givenUp]).finally(() => clearTimeout(timer)), hasten };
}

/**
 * Kills the rest of a session whose keeper died. Its minder does that by itself, completely. If the minder was killed
 * too, everything with the session's marker is killed, and everything below.
 */
export async function killRemaining(sessionId: string): Promise<void> {
	const giveUpAt = performance.now() + giveUpMs;
	const minders = await look((all) => mindersOf(sessionId, all), giveUpAt);
	for (const minder of minders) {
		signal(minder, SIGUSR2);
		signal(minder, SIGCONT);
	}
	const left = await survivorsOf(minders, performance.now() + minderMs);
	await Promise.all(left.map((minder) => killWithoutMinder(minder, giveUpAt)));
	// Two empty results in a row are needed, because a process may fork while /proc is read.
	for (let empty = 0; empty < 2; ) {
		const members = await look((all) => membersOf(sessionId, all), giveUpAt);
		empty = members.length === 0 ? empty + 1 : 0;
		killAll(members);
		const alive = await survivorsOf(members, giveUpAt);
		if (alive.length > 0) throw unended(alive);
	}
}

/**
 * Does the work of a minder that does not respond. While the minder exists, even stopped, no process below it can
 * escape. So it is killed only after nothing is left below it and it still does not exit.
 */
async function killWithoutMinder(minder: RunningProcess, giveUpAt: number): Promise<void> {
	let emptySince: number | undefined;
	for (let pauseMs = firstPauseMs; isLeft(minder); pauseMs = await pause(pauseMs)) {
		const below = await look(({ all }) => (isLeft(minder) ? descendants(minder.pid, all) : []), giveUpAt);
		killAll(below);
		// Continue it only now that the process that may have stopped it is being killed.
		signal(minder, SIGCONT);
		const now = performance.now();
		if (now > giveUpAt) throw unended([...below, minder]);
		emptySince = below.length > 0 ? undefined : (emptySince ?? now);
		if (emptySince !== undefined && now - emptySince > minderMs) signal(minder, SIGKILL);
	}
}

/** Searches the process table. Retries if /proc can't be read at the moment, for example without a free descriptor. */
async function look(find: (all: ProcessTable) => RunningProcess[], giveUpAt: number): Promise<RunningProcess[]> {
	for (let pauseMs = firstPauseMs; ; pauseMs = await pause(pauseMs)) {
		try {
			return find(await readProcessTable());
		} catch (thrown) {
			if (performance.now() > giveUpAt) throw thrown;
		}
	}
}

/** Waits until the processes are gone. Returns those that are left when the time is over. */
async function survivorsOf(processes: readonly RunningProcess[], giveUpAt: number): Promise<RunningProcess[]> {
	let left = processes.filter(isLeft);
	for (let pauseMs = firstPauseMs; left.length > 0 && performance.now() < giveUpAt; left = left.filter(isLeft)) {
		pauseMs = await pause(pauseMs);
	}
	return left;
}

/** Waits, and returns the next delay. */
async function pause(ms: number): Promise<number> {
	await new Promise((resolve) => setTimeout(resolve, ms));
	return Math.min(2 * ms, longestPauseMs);
}

/** Kills parents before their children: a shell whose child was killed first would run its next command. */
function killAll(processes: readonly RunningProcess[]): void {
	const olderFirst = (a: RunningProcess, b: RunningProcess) => a.startTime - b.startTime || a.pid - b.pid;
	for (const one of [...processes].sort(olderFirst)) signal(one, SIGKILL);
}

function signal({ pid, startTime }: RunningProcess, signo: number): void {
	try {
		signalProcess(pid, startTime, signo);
	} catch (thrown) {
		// Another user's process, or no free descriptor. The next search finds it again.
		if (!isNativeError(thrown)) throw thrown;
	}
}

function unended(processes: readonly RunningProcess[]): KillTimeoutError {
	return new KillTimeoutError(processes.map(({ pid }) => pid));
}
