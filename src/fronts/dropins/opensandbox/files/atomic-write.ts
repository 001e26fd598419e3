/**
 * Replaces a file's content atomically: readers see the old or the new content, never a part.
 *
 * Links, hard links, owner and mode of an existing file are kept. If these or the file system rule out a rename, the
 * existing file is overwritten.
 */

import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, rename, stat } from "node:fs/promises";
import { type BytePath, fromBytes, onDisk, parentOf, resolve } from "./byte-path.ts";
import { makeDirectories } from "./directories.ts";
import { codeOf } from "./errors.ts";
import { applyToFile, type Ownership } from "./permissions.ts";
import type { Spool, Spools } from "./spool.ts";

/** Most links followed, as in the kernel. */
const MAX_LINKS = 40;
const COPY_BYTES = 256 * 1024;

/** A destination with all links resolved, and the file that exists there. */
export type TargetFile = { readonly path: BytePath; readonly present: Stats | undefined };

export async function resolveTarget(given: BytePath): Promise<TargetFile> {
	let path = given;
	for (let links = 0; links <= MAX_LINKS; links++) {
		const present = await lstat(onDisk(path)).catch(unlessMissing);
		if (!present?.isSymbolicLink()) return { path, present };
		path = resolve(parentOf(path), fromBytes(await readlink(onDisk(path), { encoding: "buffer" })));
	}
	throw Object.assign(new Error(`ELOOP: too many symbolic links encountered, open '${given}'`), {
		code: "ELOOP",
		syscall: "open",
	});
}

/** The nearest existing directory above a destination. New content is written there. */
export async function directoryNear({ path }: TargetFile): Promise<BytePath> {
	for (let directory = parentOf(path); ; directory = parentOf(directory)) {
		const found = await stat(onDisk(directory)).catch(unlessMissing);
		if (found || directory === "/") return directory;
	}
}

/** Sets owner and mode before the rename, so that the file never has others under its final name. */
export async function writeAtomically(
	spool: Spool,
	place: TargetFile,
	how: { ownership: Ownership; spools: Spools },
): Promise<void> {
	const { ownership, spools } = how;
	await makeDirectories(parentOf(place.path), { uid: ownership.uid, gid: ownership.gid });
	await spool.file.sync().catch(() => {});
	if (!(await replaceBy(spool, place, ownership, spools))) await writeOver(spool, place, ownership);
	await syncDirectory(parentOf(place.path));
}

/** False if an atomic replacement is impossible. */
async function replaceBy(spool: Spool, place: TargetFile, ownership: Ownership, spools: Spools): Promise<boolean> {
	const { present } = place;
	if (present && (!present.isFile() || present.nlink > 1)) return false;
	try {
		if (present) {
			const { uid, gid, mode } = present;
			await applyToFile(spool.file, { uid, gid, mode: mode & 0o7777 });
		}
		await applyToFile(spool.file, ownership);
		await rename(onDisk(spool.path), onDisk(place.path));
		return true;
	} catch (error) {
		const code = codeOf(error);
		if (code === "EXDEV") return copyThere(spool, place, ownership, spools);
		// Overwriting needs an existing file.
		if (present && (code === "EPERM" || code === "EACCES" || code === "EBUSY" || code === "EROFS")) return false;
		throw error;
	}
}

/** Across file systems: first copies to a file beside the destination. */
async function copyThere(from: Spool, place: TargetFile, ownership: Ownership, spools: Spools): Promise<boolean> {
	const near = await spools.create(parentOf(place.path), ownership.mode !== undefined || place.present !== undefined);
	try {
		// `create` fell back to our own directory, because the destination's is not writable.
		if (parentOf(near.path) !== parentOf(place.path)) return false;
		await copyBytes(from.file, near.file);
		await near.file.sync().catch(() => {});
		return await replaceBy(near, place, ownership, spools);
	} finally {
		await near.dispose();
	}
}

async function writeOver(spool: Spool, { path }: TargetFile, ownership: Ownership): Promise<void> {
	const { O_CREAT, O_NOCTTY, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
	const file = await open(onDisk(path), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY, 0o777);
	try {
		await copyBytes(spool.file, file);
		await applyToFile(file, ownership);
		await file.sync().catch(() => {});
	} finally {
		await file.close();
	}
}

async function copyBytes(from: FileHandle, to: FileHandle): Promise<void> {
	const block = Buffer.allocUnsafe(COPY_BYTES);
	for (let at = 0; ; ) {
		const { bytesRead } = await from.read(block, 0, block.length, at);
		if (bytesRead === 0) return;
		at += bytesRead;
		for (let sent = 0; sent < bytesRead; ) sent += (await to.write(block, sent, bytesRead - sent)).bytesWritten;
	}
}

/** Makes the rename survive a power failure. Not all file systems support this, so failures are ignored. */
async function syncDirectory(path: BytePath): Promise<void> {
	const directory = await open(onDisk(path), constants.O_RDONLY).catch(() => undefined);
	await directory?.sync().catch(() => {});
	await directory?.close();
}

function unlessMissing(error: unknown): undefined {
	if (codeOf(error) !== "ENOENT") throw error;
}
