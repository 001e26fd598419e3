/** Whether a program that does nothing but write stands still because nobody reads it. */

import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";

/** Far more than the one in which a reader that is not held up would read. */
const TURNS = 100;

/**
 * It sleeps, which such a program does only in a write: what it writes to is full. Whoever reads that in this
 * process would find it readable in the next turn of the loop, and wake it. If it has slept through many of them
 * and nothing was read, it is held up.
 */
export async function standsStill(pid: number, readSoFar: () => number | Promise<number>): Promise<boolean> {
	const before = await readSoFar();
	for (let i = 0; i < TURNS; i++) {
		if (!isAsleep(pid)) return false;
		await turn();
	}
	return before > 0 && (await readSoFar()) === before;
}

function isAsleep(pid: number): boolean {
	const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
	return stat[stat.lastIndexOf(")") + 2] === "S";
}
