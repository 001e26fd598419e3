/** Learns how children ended, at once and exactly once, whoever reaps them first. */

import { closeSync } from "node:fs";
import { poll, type Reaped, wait } from "../native/addon.ts";

/** Children whose end somebody waits for. */
const awaited = new Map<number, (reaped: Reaped | undefined) => void>();

/** Calls back once when a child has ended and was reaped; with nothing when another took its status. Takes over the pidfd. */
export function onExit(pid: number, pidfd: number, callback: (reaped: Reaped | undefined) => void): void {
	// A running program keeps us alive, as its output does.
	const cancel = poll(pidfd, "read", () => settle(take(pid)), { hold: true });
	const settle = (reaped: Reaped | undefined) => {
		awaited.delete(pid);
		cancel();
		closeSync(pidfd);
		callback(reaped);
	};
	awaited.set(pid, settle);
}

function take(pid: number): Reaped | undefined {
	try {
		return wait(pid) ?? undefined;
	} catch {
		return undefined;
	}
}

/** Reaps every child that has ended, those that were inherited too. Only for a process whose children are all ours. */
export function reapOrphans(): void {
	for (let reaped = wait(-1); reaped !== null; reaped = wait(-1)) awaited.get(reaped.pid)?.(reaped);
}
