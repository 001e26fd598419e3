/**
 * Identifies the program that asks for a secret by its executable file. A program can choose its name, and a path may
 * lead to another file in a sandbox, so files are compared by device and inode.
 */

import { access, constants, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Inspection, isSecretRead } from "../../core/inspect/inspection.ts";

const ROOT = 0;
const OTHERS_WRITE = 0o022;

/**
 * Why a file can't be configured as a program that receives secrets; undefined if it can. Only root may be able to
 * change the file and the directories above it. Otherwise any program in a session could replace it.
 */
export async function programFault(path: string): Promise<string | undefined> {
	try {
		const real = await realpath(path);
		if (real !== path) return `${path} is a link to ${real}; use that path`;
		if (!(await stat(path)).isFile()) return `${path} is not a program`;
		await access(path, constants.X_OK);
		for (let each = path; ; each = dirname(each)) {
			const { uid, mode } = await stat(each);
			if (uid !== ROOT || (mode & OTHERS_WRITE) !== 0) return `${each} can be changed by users other than root`;
			if (each === dirname(each)) return undefined;
		}
	} catch (error) {
		return `${path} can't be used (${(error as NodeJS.ErrnoException).code})`;
	}
}

/** Why the inspected program is not this one asking for a secret at the session's own terminal; undefined if it is. */
export async function askerFault(program: string, found: Inspection): Promise<string | undefined> {
	const { confidence, pid, isInner } = found;
	if (!isSecretRead(found)) return "the program no longer asks for a secret";
	if (confidence !== "sure" || pid === null)
		return `can't verify that ${program} asks: the kernel does not show the process`;
	if (isInner !== false) return "the program asks on a nested terminal, which another program may read";
	return (await programFault(program)) ?? (await strangerFault(program, pid));
}

async function strangerFault(program: string, pid: number): Promise<string | undefined> {
	try {
		const named = await stat(program, { bigint: true });
		const runs = await stat(`/proc/${pid}/exe`, { bigint: true });
		if (runs.dev === named.dev && runs.ino === named.ino) return undefined;
		return `a program other than ${program} asks`;
	} catch (error) {
		return `can't verify that ${program} asks (${(error as NodeJS.ErrnoException).code})`;
	}
}
