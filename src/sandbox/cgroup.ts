/** Control groups (v2), which limit all processes of a program together: one for each, below one that the operator gives us. */

import { constants } from "node:fs";
import { access, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlGroup } from "../core/process.ts";
import type { SandboxLimits } from "../core/sandbox.ts";

/** What limits memory, and what limits processes. */
const CONTROLLERS = ["memory", "pids"];

/** In every sandbox it is read-only, so that no program in one changes its limits or leaves its group. */
const MOUNT = "/sys/fs/cgroup";

/** What is in the group besides what `setrlimit` would count: bubblewrap itself, which waits outside. */
const OUTSIDE_PROCESSES = 1;

export class ControlGroups {
	readonly #directory: string;
	/** Whether the kernel counts what was swapped out. */
	readonly #countsSwap: boolean;

	private constructor(directory: string, countsSwap: boolean) {
		this.#directory = directory;
		this.#countsSwap = countsSwap;
	}

	/** Rejects with a sentence about what is wrong with the directory; `mount` is another only for tests. */
	static async open(directory: string, mount: string = MOUNT): Promise<ControlGroups> {
		const real = await realpath(directory).catch(() => undefined);
		if (real === undefined) throw new Error(`there is no directory ${directory}`);
		if (!real.startsWith(`${mount}/`)) throw new Error(`${real} is not below ${mount}, which no sandbox can write to`);
		const available = await readWords(join(real, "cgroup.controllers"));
		if (!available) throw new Error(`${real} is not a control group of version 2`);
		const missing = CONTROLLERS.filter((name) => !available.includes(name));
		if (missing.length > 0)
			throw new Error(`${real} has no controller for ${missing.join(" and ")}; the group above it must pass it on`);
		if (!(await isWritable(real))) throw new Error(`no groups can be made in ${real}: permission denied`);
		await passOn(real);
		return new ControlGroups(real, await isWritable(join(real, "memory.swap.max")));
	}

	/** The group of one session's program, unless it has no limits that need one. */
	for(sessionId: string, { memoryBytes, processes }: SandboxLimits): ControlGroup | undefined {
		const memory = {
			"memory.max": String(memoryBytes),
			...(this.#countsSwap ? { "memory.swap.max": "0" } : {}),
			// All or none: what is left of a program after one of its processes was taken is of no use to anybody.
			"memory.oom.group": "1",
		};
		const pids = { "pids.max": String((processes ?? 0) + OUTSIDE_PROCESSES) };
		const settings = { ...(memoryBytes === undefined ? {} : memory), ...(processes === undefined ? {} : pids) };
		if (Object.keys(settings).length === 0) return undefined;
		return { path: join(this.#directory, `hawser-${sessionId}`), settings };
	}
}

/** Has the groups below this one get its controllers. */
async function passOn(group: string): Promise<void> {
	const file = join(group, "cgroup.subtree_control");
	const passed = (await readWords(file)) ?? [];
	const wanted = CONTROLLERS.filter((name) => !passed.includes(name));
	if (wanted.length === 0) return;
	try {
		await writeFile(file, wanted.map((name) => `+${name}`).join(" "));
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		// The kernel limits either what is in a group or what is in those below it.
		const why = code === "EBUSY" ? "there are processes in it" : message;
		throw new Error(`${group} can't pass its controllers on to groups below it: ${why}`);
	}
}

async function readWords(file: string): Promise<string[] | undefined> {
	const text = await readFile(file, "latin1").catch(() => undefined);
	return text?.split(/\s+/).filter((word) => word !== "");
}

function isWritable(path: string): Promise<boolean> {
	return access(path, constants.W_OK).then(
		() => true,
		() => false,
	);
}
