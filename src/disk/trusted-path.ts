/** Checks that other users of this machine can't redirect a path. */

import { lstat, readlink } from "node:fs/promises";
import { dirname, join, parse, resolve, sep } from "node:path";
import { SessionError } from "../core/errors.ts";

const ROOT = 0;
const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
/** In a sticky directory only the owner of an entry may replace it. */
const STICKY = 0o1000;
/** The kernel's limit. */
const MAX_LINKS = 40;

/**
 * Refuses a path that another user could redirect: every directory and link on the way must belong to us or root, and
 * no directory may let others replace its entries. Missing parts are not checked.
 */
export async function checkTrusted(path: string): Promise<void> {
	const { root } = parse(resolve(path));
	let names = namesOf(path, root);
	let reached = root;
	let links = 0;
	for (let name: string | undefined; ; name = names.shift()) {
		const next = name === undefined ? reached : join(reached, name);
		const entry = await lstat(next).catch(ifMissing);
		if (!entry) return;
		if (entry.uid !== ROOT && entry.uid !== process.getuid?.()) {
			throw refusal(path, next === resolve(path) ? "it belongs to another user" : `${next} belongs to another user`);
		}
		if (entry.isSymbolicLink()) {
			if (++links > MAX_LINKS) throw refusal(path, `too many symbolic links (limit ${MAX_LINKS})`);
			const target = resolve(dirname(next), await readlink(next));
			names = [...namesOf(target, root), ...names];
			reached = root;
			continue;
		}
		if (names.length === 0) return;
		if (entry.isDirectory() && isOpen(entry)) throw refusal(path, `other users may write in ${next}`);
		reached = next;
	}
}

function namesOf(path: string, root: string): string[] {
	return resolve(path)
		.slice(root.length)
		.split(sep)
		.filter((name) => name !== "");
}

function isOpen({ mode, uid, gid }: { readonly mode: number; readonly uid: number; readonly gid: number }): boolean {
	if ((mode & STICKY) !== 0) return false;
	// A group with the same id as the user is private: many systems give each user one.
	const isOwnGroup = gid === uid;
	return (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITE) !== 0 && !isOwnGroup);
}

function refusal(path: string, why: string): SessionError {
	return new SessionError("permission_denied", `${path} can't be trusted with secrets: ${why}`, {
		hint: "choose a directory that only you can change",
	});
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
	if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
	throw error;
}
