/** Processor time and memory of a process, from /proc. */

import { readdirSync, readFileSync } from "node:fs";

/** Processor seconds of all threads. More precise than /proc/PID/stat, which counts in hundredths. */
export function cpuSeconds(pid: number | "self"): number {
	let nanoseconds = 0;
	for (const thread of readdirSync(`/proc/${pid}/task`)) {
		nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
	}
	return nanoseconds / 1e9;
}

export type Memory = {
	/** Private pages plus a proportional share of shared ones. */
	readonly pss: number;
	readonly privateDirty: number;
	readonly rss: number;
};

/** In bytes. */
export function memoryOf(pid: number | "self"): Memory {
	const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
	const read = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]);
	return { pss: read("Pss"), privateDirty: read("Private_Dirty"), rss: read("Rss") };
}
