/** Detects that a stalled program is waiting for its reader, by turns of the event loop and not by time. */

import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";

/** Far more than the single turn in which an unblocked reader in this process would read. */
const TURNS = 100;

/**
 * A program that only writes sleeps only in a write, when the output is full. A reader in this process would find it
 * readable in the next turn and wake it. If it has slept through many turns and nothing was read, it is stalled.
 */
export function standsStill(pid: number, readSoFar: () => number | Promise<number>): Promise<boolean> {
	return staysTheSame(readSoFar, () => isAsleep(pid));
}

/** The same within this process: anything that could proceed would have, within this many turns. */
export async function staysTheSame(
	soFar: () => number | Promise<number>,
	isWaiting: () => boolean = () => true,
): Promise<boolean> {
	const before = await soFar();
	for (let i = 0; i < TURNS; i++) {
		if (!isWaiting()) return false;
		await turn();
	}
	return before > 0 && (await soFar()) === before;
}

/** One that has exited is not. */
function isAsleep(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return stat[stat.lastIndexOf(")") + 2] === "S";
	} catch {
		return false;
	}
}
