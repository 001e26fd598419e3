/** Owner, group and mode of files. */

import type { FileHandle } from "node:fs/promises";
import { chmod, chown } from "node:fs/promises";
import { ExecdError } from "../errors.ts";
import type { Body } from "../request-body.ts";
import { type BytePath, onDisk } from "./byte-path.ts";
import type { IdNames } from "./id-names.ts";

/** As in a request. Absent names are empty; an absent mode is zero. */
type Permission = { readonly owner: string; readonly group: string; readonly mode: number };

/** As the kernel needs it; undefined means unchanged. */
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

/** Resolves all names first, so that nothing changes if one is unknown. */
export function ownershipOf({ owner, group, mode }: Permission, names: IdNames): Ownership {
	const uid = owner === "" ? undefined : names.uidOf(owner);
	const gid = group === "" ? undefined : names.gidOf(group);
	if (owner !== "" && uid === undefined) throw failure(`unknown user ${owner}`);
	if (group !== "" && gid === undefined) throw failure(`unknown group ${group}`);
	return { mode: mode === 0 ? undefined : bitsOf(mode), uid, gid };
}

/** The decimal digits of a mode are its octal digits. */
function bitsOf(mode: number): number {
	if (!/^[0-7]+$/.test(String(mode))) throw failure(`invalid mode ${mode}: not octal digits`);
	return Number.parseInt(String(mode), 8) & 0o777;
}

/** Follows links. */
export async function applyTo(path: BytePath, { mode, uid, gid }: Ownership): Promise<void> {
	if (mode !== undefined) await chmod(onDisk(path), mode);
	if (uid !== undefined || gid !== undefined) await chown(onDisk(path), uid ?? UNCHANGED, gid ?? UNCHANGED);
}

/** The mode last, because changing the owner clears some mode bits. */
export async function applyToFile(file: FileHandle, { mode, uid, gid }: Ownership): Promise<void> {
	if (uid !== undefined || gid !== undefined) await file.chown(uid ?? UNCHANGED, gid ?? UNCHANGED);
	if (mode !== undefined) await file.chmod(mode);
}

/** The id -1, which `chown` leaves unchanged. */
const UNCHANGED = 2 ** 32 - 1;

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", message);
}
