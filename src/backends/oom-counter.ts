/** Detects OOM kills by the counter in the memory controller of our cgroup, or of a program's own. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A killed program is reaped much sooner than this after the counter has grown. */
const recentMs = 1_000;

export class OomCounter {
	readonly #file: string | undefined;
	#seen: number | undefined;
	#grewAt = Number.NEGATIVE_INFINITY;

	/** `seen` is the count before the program started. Defaults to the current count. */
	constructor(file: string | undefined = findFile(), seen?: number) {
		this.#file = file;
		this.#seen = seen ?? this.#read();
	}

	/** Must be called at every start and every end, so that a growth seen at an end happened shortly before it. */
	hasJustGrown(): boolean {
		const count = this.#read();
		if (count !== undefined && this.#seen !== undefined && count > this.#seen) this.#grewAt = performance.now();
		this.#seen = count;
		return performance.now() - this.#grewAt < recentMs;
	}

	/** For a program's own cgroup. It must be read before the group is removed, when the program's end is reported. */
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

/** The counter in cgroup v2, or in v1. Programs without their own cgroup are in ours. */
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
