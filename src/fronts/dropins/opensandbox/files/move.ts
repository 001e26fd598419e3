/** `POST /files/mv`: moves a file or directory, also to another file system. Never overwrites. */

import { constants, type Stats } from "node:fs";
import {
	chmod,
	copyFile,
	lchown,
	lstat,
	lutimes,
	mkdir,
	open,
	readlink,
	realpath,
	rename,
	symlink,
} from "node:fs/promises";
import { ExecdError } from "../errors.ts";
import { type BytePath, baseOf, join, onDisk, parentOf, shown } from "./byte-path.ts";
import { makeDirectories, removeTree } from "./directories.ts";
import { codeOf, fileError, withFileErrors } from "./errors.ts";
import { walk } from "./walk.ts";

export async function move(src: BytePath, dest: BytePath): Promise<void> {
	await withFileErrors(fileError, async () => {
		const source = await lstat(onDisk(src));
		if (await lstat(onDisk(dest)).catch(() => undefined))
			throw failure(`destination path already exists: ${shown(dest)}`);
		if (source.isDirectory() && (await isInside(src, dest)))
			throw failure(`cannot move ${shown(src)} into itself (${shown(dest)})`);
		await makeDirectories(parentOf(dest), { mode: 0o755 });
		try {
			await rename(onDisk(src), onDisk(dest));
		} catch (error) {
			if (codeOf(error) !== "EXDEV") throw error;
			await moveAcross(src, dest);
		}
	});
}

/** With all links resolved. */
async function isInside(src: BytePath, dest: BytePath): Promise<boolean> {
	const outer = await realpath(onDisk(src), { encoding: "latin1" });
	for (let above = dest; above !== "/"; above = parentOf(above)) {
		const real = await realpath(onDisk(above), { encoding: "latin1" }).catch(() => undefined);
		if (real === undefined) continue;
		return real === outer || real.startsWith(`${outer}/`);
	}
	return false;
}

/** Copies under a temporary name, renames the copy, then removes the source. */
async function moveAcross(src: BytePath, dest: BytePath): Promise<void> {
	const copy = join(parentOf(dest), `.hawser-moving-${process.pid}-${baseOf(dest)}`.slice(0, 255) as BytePath);
	try {
		await copyOne(src, copy, await lstat(onDisk(src)));
		if ((await lstat(onDisk(src))).isDirectory()) await copyBelow(src, copy);
		await rename(onDisk(copy), onDisk(dest));
	} catch (error) {
		await removeTree(copy).catch(() => {});
		throw error;
	}
	await removeTree(src);
}

async function copyBelow(src: BytePath, copy: BytePath): Promise<void> {
	const directories: [BytePath, Stats][] = [[copy, await lstat(onDisk(src))]];
	// Any failure aborts, because the source is removed afterwards.
	const onTrouble = (error: unknown) => {
		throw error;
	};
	for await (const { path } of walk(src, Number.POSITIVE_INFINITY, onTrouble)) {
		const target = (copy + path.slice(src.length)) as BytePath;
		const stats = await lstat(onDisk(path));
		await copyOne(path, target, stats);
		if (stats.isDirectory()) directories.push([target, stats]);
	}
	// Last, because creating entries changes a directory's times.
	for (const [path, { atime, mtime }] of directories.reverse()) await lutimes(onDisk(path), atime, mtime);
}

async function copyOne(from: BytePath, to: BytePath, stats: Stats): Promise<void> {
	if (stats.isSymbolicLink()) await symlink(await readlink(onDisk(from), { encoding: "buffer" }), onDisk(to));
	else if (stats.isDirectory()) await mkdir(onDisk(to), { mode: 0o700 });
	else if (stats.isFile()) {
		await copyFile(onDisk(from), onDisk(to), constants.COPYFILE_EXCL);
		const file = await open(onDisk(to), constants.O_RDONLY);
		await file.sync().finally(() => file.close());
	} else throw failure(`cannot move ${shown(from)} to another file system: not a file, directory or link`);
	// Fails without the right to give files away; the owner then changes.
	await lchown(onDisk(to), stats.uid, stats.gid).catch(() => {});
	if (!stats.isSymbolicLink()) await chmod(onDisk(to), stats.mode & 0o7777);
	await lutimes(onDisk(to), stats.atime, stats.mtime);
}

function failure(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", `error accessing file: ${message}`);
}
