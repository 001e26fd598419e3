/** Lists the descendants of a process and their states, from /proc. */

import { readdirSync, readFileSync } from "node:fs";

/** All descendants of a process, with their command lines. */
export function processesBelow(pid) {
	const parents = new Map();
	for (const name of readdirSync("/proc")) {
		const parent = /^\d+$/.test(name) && /^PPid:\t(\d+)$/m.exec(read(`/proc/${name}/status`))?.[1];
		if (parent) parents.set(Number(name), Number(parent));
	}
	const found = [];
	const add = (of) => {
		for (const [child, parent] of parents) {
			if (parent !== of) continue;
			found.push({ pid: child, command: commandOf(child) });
			add(child);
		}
	};
	add(pid);
	return found;
}

/** One line: pid, parent, state, and the kernel functions in which its threads wait. */
export function describe(pid) {
	const [, state, parent] = /\) (\S) (\d+)/.exec(read(`/proc/${pid}/stat`)) ?? [];
	const places = list(`/proc/${pid}/task`).map((thread) => read(`/proc/${pid}/task/${thread}/wchan`));
	return `${pid} of ${parent}, ${state} in ${[...new Set(places)].join(" ")}: ${commandOf(pid).slice(0, 200)}`;
}

function commandOf(pid) {
	return read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
}

function list(path) {
	try {
		return readdirSync(path);
	} catch {
		return [];
	}
}

/** Empty if the process has ended. */
function read(path) {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
