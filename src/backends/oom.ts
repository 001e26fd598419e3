/** Whether the kernel ended programs because memory ran out, where it counts that: in the memory controller of our cgroup, or of their own. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A program that was killed is reaped long before this after its group's count grew. */
const recentMs = 1_000;

export class OomCounter {
	readonly #file: string | undefined;
	#seen: number | undefined;
	#grewAt = Number.NEGATIVE_INFINITY;

	/** `seen` is how far the count was before anything of interest; how far it is now, when left out. */
	constructor(file: string | undefined = findFile(), seen?: number) {
		this.#file = file;
		this.#seen = seen ?? this.#read();
	}

	/** To be asked at every start and every end, so that what grew before a program's end was just before it. */
	hasJustGrown(): boolean {
		const count = this.#read();
		if (count !== undefined && this.#seen !== undefined && count > this.#seen) this.#grewAt = performance.now();
		this.#seen = count;
		return performance.now() - this.#grewAt < recentMs;
	}

	/** Of a program's own group, made for it: to be asked before that goes, which is when the program's end was heard of. */
	static ofGroup(path: string): OomCounter {
		return new OomCounter(join(path, "memory.events"), 0);
	}

	#read(): number | undefined {
		if (this.#file === undefined) return undefined;
		try {
			const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync(this.#file, "latin1")) ?? [];
			return count === undefined ? undefined : Number(count);
		} catch {
			return undefined;
		}
	}
}

/** In cgroup v2, then in v1; programs that have no group of their own are in the same as we are. */
function findFile(): string | undefined {
	let groups = "";
	try {
		groups = readFileSync("/proc/self/cgroup", "latin1");
	} catch {
		return undefined;
	}
	const [, unified] = /^0::(.*)$/m.exec(groups) ?? [];
	const [, memory] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups) ?? [];
	return [
		...(unified === undefined ? [] : [`/sys/fs/cgroup${unified}/memory.events`]),
		...(memory === undefined ? [] : [`/sys/fs/cgroup/memory${memory}/memory.oom_control`]),
	].find((file) => existsSync(file));
}
