/** The one way in which programs are ended: all of a tree, first asked, then made to, until two looks find none. */

import { constants } from "node:os";
import { isNativeError, signalProcess } from "../native/addon.ts";
import { descendants, type Living, living, membersOf, snapshot } from "./processes.ts";

const { SIGCONT, SIGKILL } = constants.signals;

export const defaultGraceMs = 5_000;

/** Nothing survives SIGKILL for long but what hangs in the kernel or what we may not signal. */
const giveUpMs = 30_000;
const longestPauseMs = 50;

export type Find = () => Promise<Living[]>;

export type KillPlan = {
	/** Who is left, without zombies. Called again and again. */
	readonly find: Find;
	/** Sent once to each; SIGCONT follows, so that stopped ones can heed it. */
	readonly signo: number;
	readonly graceMs: number;
};

/** An ending under way. */
export type Killing = {
	/** Resolves when none is left. */
	readonly done: Promise<void>;
	/** A further request: its signal is sent too, and the shorter grace counts. */
	hasten(signo: number, graceMs: number): void;
};

export function killTree({ find, signo, graceMs }: KillPlan): Killing {
	let first = signo;
	let deadline = performance.now() + (signo === SIGKILL ? 0 : graceMs);
	let asked = new Set<string>();
	let wake = () => {};

	async function run(): Promise<void> {
		let isEmpty = false;
		for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
			const left = await look(find, deadline + giveUpMs);
			// Twice, for who forked while we looked.
			if (left?.length === 0 && isEmpty) return;
			isEmpty = left?.length === 0;
			const overdueMs = performance.now() - deadline;
			if (overdueMs > giveUpMs && !isEmpty) {
				throw new Error(`processes ${left?.map(({ pid }) => pid).join(", ")} can't be ended`);
			}
			for (const one of (left ?? []).sort(olderFirst)) {
				const name = `${one.pid} ${one.startTime}`;
				if (overdueMs >= 0) send(one, SIGKILL);
				else if (!asked.has(name)) {
					asked.add(name);
					send(one, first);
					send(one, SIGCONT);
				}
			}
			const untilDeadline = overdueMs < 0 ? -overdueMs : longestPauseMs;
			await new Promise<void>((resolve) => {
				wake = resolve;
				// Keeps the process alive: a server that shuts down must not leave before this is over.
				setTimeout(resolve, isEmpty ? 1 : Math.min(pauseMs, untilDeadline));
			});
		}
	}

	return {
		done: run(),
		hasten(signo, graceMs) {
			if (signo !== first) asked = new Set();
			first = signo;
			deadline = Math.min(deadline, performance.now() + (signo === SIGKILL ? 0 : graceMs));
			wake();
		},
	};
}

/** Parents before their children: a shell whose child was ended first would go on with its next command. */
function olderFirst(a: Living, b: Living): number {
	return a.startTime - b.startTime || a.pid - b.pid;
}

function send({ pid, startTime }: Living, signo: number): void {
	try {
		signalProcess(pid, startTime, signo);
	} catch (thrown) {
		// Another user's process, or no descriptor free just now; the next pass tries again.
		if (!isNativeError(thrown)) throw thrown;
	}
}

/** One look; nothing when /proc can't be read just now, as when no descriptor is free. */
async function look(find: Find, giveUpAt: number): Promise<Living[] | undefined> {
	try {
		return await find();
	} catch (thrown) {
		if (performance.now() > giveUpAt) throw thrown;
		return undefined;
	}
}

/** Finds what is below this process, which must be a child-subreaper. */
export function findDescendants(): Living[] {
	return descendants(process.pid, living());
}

/** Finds what belongs to a session from outside, and keeps sight of what it once found. `leader` is asked each time, and says nothing once it was reaped. */
export function createSessionFinder(sessionId: string, leader: () => number | undefined): Find {
	let known = new Map<number, number>();
	return async () => {
		const isKnown = ({ pid, startTime }: Living) => known.get(pid) === startTime;
		const current = await snapshot();
		// Asked after the look: a leader that was reaped meanwhile may be a stranger in it.
		const found = membersOf({ sessionId, leader: leader(), isKnown }, current);
		known = new Map(found.map(({ pid, startTime }) => [pid, startTime]));
		return found;
	};
}

/** Ends at once what is left of a session whose keeper died: all that carries its marker, and what is below or beside such. */
export async function killSurvivors(sessionId: string): Promise<void> {
	await killTree({ find: createSessionFinder(sessionId, () => undefined), signo: SIGKILL, graceMs: 0 }).done;
}
