/** A file system with very little room, for what happens when there is none. */

import { execFile } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

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
