/** A file system with very little room, for what happens when there is none. */

import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);

/** Mounts one, and takes it away after the work; needs root. */
export async function withSmallDisk(bytes: number, work: (directory: string) => Promise<void>): Promise<void> {
	const directory = await mkdtemp(join(tmpdir(), "hawser-disk-"));
	await run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", directory]);
	try {
		await work(directory);
	} finally {
		await run("umount", ["--lazy", directory]);
		await rmdir(directory);
	}
}

/** Takes all the room there is; the file that gives it back. */
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
