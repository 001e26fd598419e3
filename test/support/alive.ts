/** Whether a process runs according to the kernel, and ending one that may. */

import { readFileSync } from "node:fs";

/** It exists, and not only as a zombie. */
export function isAlive(pid: number): boolean {
	try {
		return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
	} catch {
		return false;
	}
}

/** It may exit by itself meanwhile. */
export function killIfThere(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}
