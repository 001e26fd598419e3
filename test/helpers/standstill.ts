/** Whether something stands still because nobody reads it, told by turns of the loop and not by time. */

import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";

/** Far more than the one in which a reader in this process, that is not held up, would read. */
const TURNS = 100;

/**
 * A program that does nothing but write sleeps, which it does only in a write: what it writes to is full. Whoever
 * reads that in this process would find it readable in the next turn of the loop, and wake it. If it has slept
 * through many of them and nothing was read, it is held up.
 */
export function standsStill(pid: number, readSoFar: () => number | Promise<number>): Promise<boolean> {
	return staysTheSame(readSoFar, () => isAsleep(pid));
}

/** The same of what all happens in this process: whoever could go on would have, within so many turns. */
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

/** One that is gone is not. */
function isAsleep(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return stat[stat.lastIndexOf(")") + 2] === "S";
	} catch {
		return false;
	}
}
