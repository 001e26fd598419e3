/** Creates directories with their parents, and removes directory trees. */

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, opendir, rmdir, stat, unlink } from "node:fs/promises";
import { type BytePath, fromText, join, onDisk, parentOf } from "./byte-path.ts";
import { codeOf } from "./errors.ts";
import { applyTo, type Ownership } from "./permissions.ts";

type Making = {
	/** Applied to every created level. */
	readonly uid?: number | undefined;
	readonly gid?: number | undefined;
	/** Before the umask; 0777 if absent. */
	readonly mode?: number;
};

/** Returns the created directories, outermost first. Existing ones are left as they are. */
export async function makeDirectories(path: BytePath, making: Making = {}): Promise<readonly BytePath[]> {
	try {
		await mkdir(onDisk(path), { mode: making.mode ?? 0o777 });
	} catch (error) {
		if (codeOf(error) === "ENOENT" && path !== "/") {
			const above = await makeDirectories(parentOf(path), making);
			if (above.length > 0) return [...above, ...(await makeDirectories(path, making))];
		}
		const isThere = codeOf(error) === "EEXIST" && (await stat(onDisk(path)).catch(() => undefined))?.isDirectory();
		if (isThere) return [];
		throw error;
	}
	await applyTo(path, { mode: undefined, uid: making.uid, gid: making.gid });
	return [path];
}

/** An existing directory keeps its mode and owner. */
export async function makeDirectory(path: BytePath, ownership: Ownership): Promise<void> {
	const { uid, gid } = ownership;
	const made = await makeDirectories(path, { uid, gid });
	if (made.at(-1) === path) await applyTo(path, { ...ownership, uid: undefined, gid: undefined });
}

/** Removes a file, or a directory with its contents. A missing path is fine; links are removed, never followed. */
export async function removeTree(path: BytePath): Promise<void> {
	const bare = (path.replace(/\/+$/, "") || "/") as BytePath;
	const found = await lstat(onDisk(bare)).catch((error: unknown) => {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	});
	if (!found) return;
	if (found.isDirectory()) await emptyAndRemove(bare);
	else await unlink(onDisk(bare));
}

/** Attempts to empty a directory that other processes write to. */
const MAX_ROUNDS = 10;

/** Holds the directory open and deletes through it, so that a link put in its place can't redirect the deletion. */
async function emptyAndRemove(path: BytePath): Promise<void> {
	const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
	const directory = await open(onDisk(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	try {
		for (let left = MAX_ROUNDS; ; left--) {
			await empty(directory);
			try {
				return await unlessMissing(rmdir(onDisk(path)));
			} catch (error) {
				if (codeOf(error) !== "ENOTEMPTY" || left === 0) throw error;
			}
		}
	} finally {
		await directory.close();
	}
}

async function empty(directory: FileHandle): Promise<void> {
	const held = fromText(`/proc/self/fd/${directory.fd}`);
	for await (const entry of await opendir(onDisk(held), { encoding: "latin1" })) {
		const path = join(held, entry.name as BytePath);
		if (entry.isDirectory()) await unlessMissing(emptyAndRemove(path));
		else await unlessMissing(unlink(onDisk(path)));
	}
}

/** Another process may have removed it already. */
async function unlessMissing(removing: Promise<void>): Promise<void> {
	await removing.catch((error: unknown) => {
		if (codeOf(error) !== "ENOENT") throw error;
	});
}
