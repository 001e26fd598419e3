/** The one way in which programs are ended: all of a tree, first asked, then made to, until none is left. */

import { constants } from "node:os";
import { isNativeError, signalProcess } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import { isLeft, type Living, membersOf, mindersOf, snapshot } from "./processes.ts";

const { SIGKILL, SIGUSR2 } = constants.signals;

export const defaultGraceMs = 5_000;

/** Nothing survives SIGKILL for long but what hangs in the kernel or what we may not signal. */
const giveUpMs = 30_000;
/** The most that one timer can wait. */
const longestTimerMs = 2 ** 31 - 1;
/** Between two looks at processes that were killed, and will be gone in a moment. */
const pauseMs = 5;

/** An ending under way. */
export type Killing = {
	/** Resolves when none is left. */
	readonly done: Promise<void>;
	/** A further request: its signal is sent too, and the shorter grace counts. */
	hasten(signo: number, graceMs: number): void;
};

/** Ends all that is below a minder: a signal to each, and after the grace time SIGKILL. */
export function killTree(minder: Minder, signo: number, graceMs: number): Killing {
	let deadline = Number.POSITIVE_INFINITY;
	let last: number | undefined;
	// Keeps the process alive: a server that shuts down must not leave before this is over.
	let timer: NodeJS.Timeout | undefined;
	let reject: (error: Error) => void = () => {};
	const givenUp = new Promise<never>((_, refuse) => {
		reject = refuse;
	});

	function send(next: number): void {
		if (next !== last && last !== SIGKILL) minder.signalAll(next);
		last = last === SIGKILL ? last : next;
	}
	function goOn(): void {
		clearTimeout(timer);
		const leftMs = deadline - performance.now();
		if (leftMs <= 0) send(SIGKILL);
		if (leftMs <= -giveUpMs) reject(new Error(`some processes of ${minder.pid} can't be ended`));
		else timer = setTimeout(goOn, Math.min(leftMs > 0 ? leftMs : giveUpMs + leftMs, longestTimerMs));
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
 * minder that was killed too, all that carries the session's marker is ended, and what is below or beside such.
 */
export async function killSurvivors(sessionId: string): Promise<void> {
	const giveUpAt = performance.now() + giveUpMs;
	await end(await look((all) => mindersOf(sessionId, all)), SIGUSR2, giveUpAt);
	let known: Living[] = [];
	// Twice, for who forked while we looked.
	for (let empty = 0; empty < 2; ) {
		known = await look((all) => membersOf(sessionId, known, all));
		empty = known.length === 0 ? empty + 1 : 0;
		await end(known, SIGKILL, giveUpAt);
	}

	/** One look; again when /proc can't be read just now, as when no descriptor is free. */
	async function look(find: (all: Awaited<ReturnType<typeof snapshot>>) => Living[]): Promise<Living[]> {
		for (;;) {
			try {
				return find(await snapshot());
			} catch (thrown) {
				if (performance.now() > giveUpAt) throw thrown;
				await pause();
			}
		}
	}
}

/** Signals processes, parents first, and waits until they are gone. */
async function end(processes: readonly Living[], signo: number, giveUpAt: number): Promise<void> {
	for (const one of [...processes].sort(olderFirst)) send(one, signo);
	for (let left = processes.filter(isLeft); left.length > 0; left = left.filter(isLeft)) {
		if (performance.now() > giveUpAt)
			throw new Error(`processes ${left.map(({ pid }) => pid).join(", ")} can't be ended`);
		await pause();
	}
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, pauseMs));
}

/** Parents before their children: a shell whose child was ended first would go on with its next command. */
function olderFirst(a: Living, b: Living): number {
	return a.startTime - b.startTime || a.pid - b.pid;
}

function send({ pid, startTime }: Living, signo: number): void {
	try {
		signalProcess(pid, startTime, signo);
	} catch (thrown) {
		// Another user's process, or no descriptor free just now; the next look finds it again.
		if (!isNativeError(thrown)) throw thrown;
	}
}
