/** Whose a file is to be, and who may do what with it. */

import type { FileHandle } from "node:fs/promises";
import { chmod, chown } from "node:fs/promises";
import { ExecdError } from "../answers.ts";
import type { Body } from "../body.ts";
import { type BytePath, onDisk } from "./byte-path.ts";
import type { IdNames } from "./id-names.ts";

/** As a request has it. Names that are not given are empty; a mode that is not given is zero. */
export type Permission = { readonly owner: string; readonly group: string; readonly mode: number };

/** As the kernel has it; undefined is left as it is. */
export type Ownership = {
	readonly mode: number | undefined;
	readonly uid: number | undefined;
	readonly gid: number | undefined;
};

export function readPermission(body: Body): Permission {
	return {
		owner: body.string("owner"),
		group: body.string("group"),
		mode: body.integer("mode", Number.MIN_SAFE_INTEGER) ?? 0,
	};
}

/** Looks everything up, so that nothing is changed for what can't be done. */
export function ownershipOf({ owner, group, mode }: Permission, names: IdNames): Ownership {
	const uid = owner === "" ? undefined : names.uidOf(owner);
	const gid = group === "" ? undefined : names.gidOf(group);
	if (owner !== "" && uid === undefined) throw failure(`unknown user ${owner}`);
	if (group !== "" && gid === undefined) throw failure(`unknown group ${group}`);
	return { mode: mode === 0 ? undefined : bitsOf(mode), uid, gid };
}

/** The digits of a mode are octal, though it is written as a decimal number. */
function bitsOf(mode: number): number {
	if (!/^[0-7]+$/.test(String(mode))) throw failure(`the mode ${mode} has other digits than those of an octal number`);
	return Number.parseInt(String(mode), 8) & 0o777;
}

/** Links are followed. */
export async function applyTo(path: BytePath, { mode, uid, gid }: Ownership): Promise<void> {
	if (mode !== undefined) await chmod(onDisk(path), mode);
	if (uid !== undefined || gid !== undefined) await chown(onDisk(path), uid ?? UNCHANGED, gid ?? UNCHANGED);
}

/** The mode last, because a new owner takes some of its bits away. */
export async function applyToFile(file: FileHandle, { mode, uid, gid }: Ownership): Promise<void> {
	if (uid !== undefined || gid !== undefined) await file.chown(uid ?? UNCHANGED, gid ?? UNCHANGED);
	if (mode !== undefined) await file.chmod(mode);
}

/** What `chown` takes for an id that stays: −1. */
const UNCHANGED = 2 ** 32 - 1;

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", message);
}
