/** What the kernel tells of a process: the time it used and the memory it has. */

import { readdirSync, readFileSync } from "node:fs";

/** Processor seconds of all threads. Exact, where /proc/PID/stat counts in hundredths. */
export function cpuSeconds(pid: number | "self"): number {
	let nanoseconds = 0;
	for (const thread of readdirSync(`/proc/${pid}/task`)) {
		nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
	}
	return nanoseconds / 1e9;
}

export type Memory = {
	/** Private pages, and its share of those it has in common with others. */
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
