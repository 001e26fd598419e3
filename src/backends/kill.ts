/** The one way in which programs are ended: all of a tree, first asked, then made to, until none is left. */

import { constants } from "node:os";
import { SessionError } from "../core/errors.ts";
import { isNativeError, signalProcess } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import {
	descendants,
	findMinder,
	isLeft,
	type Living,
	membersOf,
	mindersOf,
	type Snapshot,
	snapshot,
} from "./processes.ts";

const { SIGCONT, SIGKILL, SIGUSR2 } = constants.signals;

export const defaultGraceMs = 5_000;

/** Nothing survives SIGKILL for long but what hangs in the kernel or what we may not signal. */
const giveUpMs = 30_000;
/** How long a minder may take to end all that is below it, which is a matter of milliseconds; a stopped one never does. */
const minderMs = 1_000;
/** Between two looks at processes that were killed, and will be gone in a moment; longer each time if they are not. */
const firstPauseMs = 5;
const longestPauseMs = 250;

/** Something of a session is left that SIGKILL did not end in its time. It may go later: it hangs in the kernel, or is another user's. */
export class Unended extends SessionError {
	constructor(pids: readonly number[]) {
		const which = pids.length === 1 ? `process ${pids[0]}` : `processes ${pids.join(", ")}`;
		super("node_unavailable", `${which} of the session can't be ended`, {
			hint: "it may wait for a disk or file server, or belong to a user whom the server may not signal; try again later",
		});
	}
}

/** An ending under way. */
export type Killing = {
	/** Resolves when none is left. */
	readonly done: Promise<void>;
	/** A further request: its signal is sent too, and the shorter grace counts. */
	hasten(signo: number, graceMs: number): void;
};

/**
 * Ends all that is below a minder: a signal to each, and after the grace time SIGKILL. The minder does that; one that
 * was stopped is continued for it, again and again, and what it does not do in its time is done in its stead.
 */
export function killTree(minder: Minder, sessionId: string, signo: number, graceMs: number): Killing {
	let deadline = Number.POSITIVE_INFINITY;
	let last: number | undefined;
	let isReplaced = false;
	// Keeps the process alive: a server that shuts down must not leave before this is over.
	let timer: NodeJS.Timeout | undefined;
	let reject: (error: unknown) => void = () => {};
	const givenUp = new Promise<never>((_, refuse) => {
		reject = refuse;
	});

	function send(next: number): void {
		if (next !== last && last !== SIGKILL) minder.signalAll(next);
		last = last === SIGKILL ? last : next;
	}
	function goOn(): void {
		clearTimeout(timer);
		if (isReplaced) return;
		const leftMs = deadline - performance.now();
		if (leftMs <= 0) send(SIGKILL);
		const itself = findItself();
		if (itself) signal(itself, SIGCONT);
		if (itself && leftMs <= -minderMs) {
			isReplaced = true;
			endInStead(itself, deadline + giveUpMs).catch(reject);
		} else if (leftMs <= -giveUpMs) reject(new Unended([minder.pid]));
		else timer = setTimeout(goOn, leftMs > 0 ? Math.min(leftMs, minderMs) : minderMs);
	}
	/** Undefined when it is gone, or when /proc can't be read just now, as when no descriptor is free. */
	function findItself(): Living | undefined {
		try {
			return findMinder(minder.ownPid, sessionId);
		} catch {
			return undefined;
		}
	}
	function hasten(signo: number, graceMs: number): void {
		const leftMs = signo === SIGKILL ? 0 : graceMs;
		// Without time to heed it a signal is not worth sending.
		if (leftMs > 0) send(signo);
		deadline = Math.min(deadline, performance.now() + leftMs);
		goOn();
	}

	hasten(signo, graceMs);
	return { done: Promise.race([minder.gone, givenUp]).finally(() => clearTimeout(timer)), hasten };
}

/**
 * Ends at once what is left of a session whose keeper died. Its minder does that by itself, and completely; for a
 * minder that was killed too, all that carries the session's marker is ended, and what is below such.
 */
export async function killSurvivors(sessionId: string): Promise<void> {
	const giveUpAt = performance.now() + giveUpMs;
	const minders = await look((all) => mindersOf(sessionId, all), giveUpAt);
	for (const minder of minders) {
		signal(minder, SIGUSR2);
		signal(minder, SIGCONT);
	}
	const left = await whoIsLeft(minders, performance.now() + minderMs);
	await Promise.all(left.map((minder) => endInStead(minder, giveUpAt)));
	// Twice, for who forked while we looked.
	for (let empty = 0; empty < 2; ) {
		const members = await look((all) => membersOf(sessionId, all), giveUpAt);
		empty = members.length === 0 ? empty + 1 : 0;
		killAll(members);
		const alive = await whoIsLeft(members, giveUpAt);
		if (alive.length > 0) throw unended(alive);
	}
}

/**
 * Does the work of a minder that does not. While that is there, stopped or not, nothing gets away from below it, so it
 * is killed itself only when nothing is left below it and it does not go all the same.
 */
async function endInStead(minder: Living, giveUpAt: number): Promise<void> {
	let emptySince: number | undefined;
	for (let pauseMs = firstPauseMs; isLeft(minder); pauseMs = await pause(pauseMs)) {
		const below = await look(({ all }) => (isLeft(minder) ? descendants(minder.pid, all) : []), giveUpAt);
		killAll(below);
		// Only now that whoever may have stopped it is dying.
		signal(minder, SIGCONT);
		const now = performance.now();
		if (now > giveUpAt) throw unended([...below, minder]);
		emptySince = below.length > 0 ? undefined : (emptySince ?? now);
		if (emptySince !== undefined && now - emptySince > minderMs) signal(minder, SIGKILL);
	}
}

/** One look; again when /proc can't be read just now, as when no descriptor is free. */
async function look(find: (all: Snapshot) => Living[], giveUpAt: number): Promise<Living[]> {
	for (let pauseMs = firstPauseMs; ; pauseMs = await pause(pauseMs)) {
		try {
			return find(await snapshot());
		} catch (thrown) {
			if (performance.now() > giveUpAt) throw thrown;
		}
	}
}

/** Waits until processes are gone; those that are not when the time is over. */
async function whoIsLeft(processes: readonly Living[], giveUpAt: number): Promise<Living[]> {
	let left = processes.filter(isLeft);
	for (let pauseMs = firstPauseMs; left.length > 0 && performance.now() < giveUpAt; left = left.filter(isLeft)) {
		pauseMs = await pause(pauseMs);
	}
	return left;
}

/** Waits; how long to wait the next time. */
async function pause(ms: number): Promise<number> {
	await new Promise((resolve) => setTimeout(resolve, ms));
	return Math.min(2 * ms, longestPauseMs);
}

/** Parents before their children: a shell whose child was ended first would go on with its next command. */
function killAll(processes: readonly Living[]): void {
	const olderFirst = (a: Living, b: Living) => a.startTime - b.startTime || a.pid - b.pid;
	for (const one of [...processes].sort(olderFirst)) signal(one, SIGKILL);
}

function signal({ pid, startTime }: Living, signo: number): void {
	try {
		signalProcess(pid, startTime, signo);
	} catch (thrown) {
		// Another user's process, or no descriptor free just now; the next look finds it again.
		if (!isNativeError(thrown)) throw thrown;
	}
}

function unended(processes: readonly Living[]): Unended {
	return new Unended(processes.map(({ pid }) => pid));
}
