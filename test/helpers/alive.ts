/** Whether a process runs, as the kernel says, and the end of one that may. */

import { readFileSync } from "node:fs";

/** It is there, and not only as a zombie that nobody has reaped yet. */
export function isAlive(pid: number): boolean {
	try {
		return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
	} catch {
		return false;
	}
}

/** It may go by itself meanwhile. */
export function killIfThere(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}
