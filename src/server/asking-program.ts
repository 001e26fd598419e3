/**
 * Which program asks for a secret, by what the kernel says of its process. A name says nothing, since programs choose
 * it, nor does a path, which in a sandbox may lead to another file: so files are compared by device and inode.
 */

import { access, constants, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Inspection } from "../core/inspection.ts";

const ROOT = 0;
const OTHERS_WRITE = 0o022;

/**
 * Why a file may not be named as a program that is given secrets; undefined if it may. Only root can change what it is,
 * also by what is above it: else whatever runs in a session could put itself in its place.
 */
export async function programFault(path: string): Promise<string | undefined> {
	try {
		const real = await realpath(path);
		if (real !== path) return `${path} is another path of ${real}: name that`;
		if (!(await stat(path)).isFile()) return `${path} is not a program`;
		await access(path, constants.X_OK);
		for (let each = path; ; each = dirname(each)) {
			const { uid, mode } = await stat(each);
			if (uid !== ROOT || (mode & OTHERS_WRITE) !== 0) return `${each} can be changed by others than root`;
			if (each === dirname(each)) return undefined;
		}
	} catch (error) {
		return `${path} can't be used (${(error as NodeJS.ErrnoException).code})`;
	}
}

/** Why what was found is not this program that asks for a secret, at the session's own terminal; undefined if it is. */
export async function askerFault(program: string, found: Inspection): Promise<string | undefined> {
	const { state, kind, confidence, pid, isInner } = found;
	if (state !== "waiting" || kind !== "secret") return "no secret is asked for any more";
	if (confidence !== "sure" || pid === null)
		return `it can't be seen whether ${program} asks: the kernel does not show it`;
	if (isInner !== false) return "it is asked at a terminal within the session's, which another program may read along";
	return (await programFault(program)) ?? (await strangerFault(program, pid));
}

async function strangerFault(program: string, pid: number): Promise<string | undefined> {
	try {
		const named = await stat(program, { bigint: true });
		const runs = await stat(`/proc/${pid}/exe`, { bigint: true });
		if (runs.dev === named.dev && runs.ino === named.ino) return undefined;
		return `another program than ${program} asks`;
	} catch (error) {
		return `it can't be seen whether ${program} asks (${(error as NodeJS.ErrnoException).code})`;
	}
}
