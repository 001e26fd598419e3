/**
 * Puts new content in the place of a file: whoever reads it sees the old or the new, never a part.
 *
 * Links, hard links, owner and mode of a file that is there stay. Where that, or the file system, does not allow a
 * new file to take the old one's name, the old one is written over.
 */

import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, rename, stat } from "node:fs/promises";
import { type BytePath, fromBytes, onDisk, parentOf, resolve } from "./byte-path.ts";
import { makeDirectories } from "./directories.ts";
import { codeOf } from "./errors.ts";
import { applyToFile, type Ownership } from "./permissions.ts";
import type { Spool, Spools } from "./spool.ts";

/** Links on the way to a file, as many as the kernel follows. */
const MAX_LINKS = 40;
const COPY_BYTES = 256 * 1024;

/** Where content goes, with all links to it followed, and what is there now. */
export type Place = { readonly path: BytePath; readonly present: Stats | undefined };

export async function placeOf(given: BytePath): Promise<Place> {
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

/** The directory nearest to a place that is there: new content is written in it. */
export async function directoryNear({ path }: Place): Promise<BytePath> {
	for (let directory = parentOf(path); ; directory = parentOf(directory)) {
		const found = await stat(onDisk(directory)).catch(unlessMissing);
		if (found || directory === "/") return directory;
	}
}

/** The content gets its owner and mode first, so that it never has others under its name. */
export async function put(spool: Spool, place: Place, how: { ownership: Ownership; spools: Spools }): Promise<void> {
	const { ownership, spools } = how;
	await makeDirectories(parentOf(place.path), { uid: ownership.uid, gid: ownership.gid });
	await spool.file.sync().catch(() => {});
	if (!(await replaceBy(spool, place, ownership, spools))) await writeOver(spool, place, ownership);
	await syncDirectory(parentOf(place.path));
}

/** False where it can't be done in one step. */
async function replaceBy(spool: Spool, place: Place, ownership: Ownership, spools: Spools): Promise<boolean> {
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
		// Without a present file there is nothing that could be written over.
		if (present && (code === "EPERM" || code === "EACCES" || code === "EBUSY" || code === "EROFS")) return false;
		throw error;
	}
}

/** From another file system: first as a file beside the place. */
async function copyThere(from: Spool, place: Place, ownership: Ownership, spools: Spools): Promise<boolean> {
	const near = await spools.create(parentOf(place.path), ownership.mode !== undefined || place.present !== undefined);
	try {
		// In our own directory, because the other one is closed to us.
		if (parentOf(near.path) !== parentOf(place.path)) return false;
		await copyBytes(from.file, near.file);
		await near.file.sync().catch(() => {});
		return await replaceBy(near, place, ownership, spools);
	} finally {
		await near.dispose();
	}
}

async function writeOver(spool: Spool, { path }: Place, ownership: Ownership): Promise<void> {
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

/** So that the new name outlives a power cut; file systems that can't do that are no reason to fail. */
async function syncDirectory(path: BytePath): Promise<void> {
	const directory = await open(onDisk(path), constants.O_RDONLY).catch(() => undefined);
	await directory?.sync().catch(() => {});
	await directory?.close();
}

function unlessMissing(error: unknown): undefined {
	if (codeOf(error) !== "ENOENT") throw error;
}
