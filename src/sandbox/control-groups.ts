/**
 * Control groups (v2), which limit all processes of a program together. Each is created below one that the operator
 * provides.
 */

import { constants } from "node:fs";
import { access, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlGroup } from "../core/process/process.ts";
import type { SandboxLimits } from "../core/process/sandbox-policy.ts";

/** Controllers for memory and for the number of processes. */
const CONTROLLERS = ["memory", "pids"];

/** Read-only in every sandbox, so that a program can't change its limits or leave its group. */
const MOUNT = "/sys/fs/cgroup";

/** Processes in the group that `setrlimit` would not count: bubblewrap, which waits outside. */
const OUTSIDE_PROCESSES = 1;

export class ControlGroups {
	readonly #directory: string;
	/** Whether the kernel accounts for swap. */
	readonly #countsSwap: boolean;

	private constructor(directory: string, countsSwap: boolean) {
		this.#directory = directory;
		this.#countsSwap = countsSwap;
	}

	/** Rejects with the problem of the directory. `mount` differs only in tests. */
	static async open(directory: string, mount: string = MOUNT): Promise<ControlGroups> {
		const real = await realpath(directory).catch(() => undefined);
		if (real === undefined) throw new Error(`no such directory: ${directory}`);
		if (!real.startsWith(`${mount}/`)) throw new Error(`${real} is not below ${mount}, which no sandbox can write to`);
		const available = await readWords(join(real, "cgroup.controllers"));
		if (!available) throw new Error(`${real} is not a control group of version 2`);
		const missing = CONTROLLERS.filter((name) => !available.includes(name));
		if (missing.length > 0)
			throw new Error(`${real} has no controller for ${missing.join(" and ")}; the group above it must pass it on`);
		if (!(await isWritable(real))) throw new Error(`can't create groups in ${real}: permission denied`);
		await passOn(real);
		return new ControlGroups(real, await isWritable(join(real, "memory.swap.max")));
	}

	/** The group for a session's program, unless no limit needs one. */
	for(sessionId: string, { memoryBytes, processes }: SandboxLimits): ControlGroup | undefined {
		const memory = {
			"memory.max": String(memoryBytes),
			...(this.#countsSwap ? { "memory.swap.max": "0" } : {}),
			// Kill all or none: the rest of a program is of no use after one of its processes was killed.
			"memory.oom.group": "1",
		};
		const pids = { "pids.max": String((processes ?? 0) + OUTSIDE_PROCESSES) };
		const settings = { ...(memoryBytes === undefined ? {} : memory), ...(processes === undefined ? {} : pids) };
		if (Object.keys(settings).length === 0) return undefined;
		return { path: join(this.#directory, `hawser-${sessionId}`), settings };
	}
}

/** Enables the controllers for groups below this one. */
async function passOn(group: string): Promise<void> {
	const file = join(group, "cgroup.subtree_control");
	const passed = (await readWords(file)) ?? [];
	const wanted = CONTROLLERS.filter((name) => !passed.includes(name));
	if (wanted.length === 0) return;
	try {
		await writeFile(file, wanted.map((name) => `+${name}`).join(" "));
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		// The kernel allows either processes in a group or controllers in groups below it.
		const why = code === "EBUSY" ? "it contains processes" : message;
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
