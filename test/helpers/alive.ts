/** Whether a process runs, as the kernel says. */

import { readFileSync } from "node:fs";

/** It is there, and not only as a zombie that nobody has reaped yet. */
export function isAlive(pid: number): boolean {
	try {
		return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
	} catch {
		return false;
	}
}
