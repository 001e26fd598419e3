/** A file system with very little space, for tests of a full disk. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);

/** Mounts one and removes it after the work. Requires root. */
export async function withSmallDisk(
	bytes: number,
	work: (directory: string) => Promise<void>,
	{ inodes = 10_000 }: { readonly inodes?: number } = {},
): Promise<void> {
	const directory = await mkdtemp(join(tmpdir(), "hawser-disk-"));
	await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},nr_inodes=${inodes}`, "tmpfs", directory]);
	try {
		await work(directory);
	} finally {
		await run("umount", ["--lazy", directory]);
		await rmdir(directory);
	}
}

/** Fills all space. Returns the file whose removal frees it. */
export async function fill(directory: string): Promise<string> {
	const file = join(directory, "filler");
	const block = new Uint8Array(4096);
	for (;;) {
		try {
			await appendFile(file, block);
		} catch (error) {
			expect(error).toMatchObject({ code: "ENOSPC" });
			return file;
		}
	}
}

/** Uses all inodes. Returns the directory whose removal frees them. */
export async function takeInodes(directory: string): Promise<string> {
	const files = join(directory, "files");
	await mkdir(files, { recursive: true });
	for (;;) {
		try {
			await writeFile(join(files, randomUUID()), "");
		} catch (error) {
			expect(error).toMatchObject({ code: "ENOSPC" });
			return files;
		}
	}
}
