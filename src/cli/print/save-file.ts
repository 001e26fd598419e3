/** Saves output to a file. */

import { createWriteStream } from "node:fs";
import { realpath, rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/**
 * Writes the file completely or not at all: half a recording would play, too. Devices and pipes are written directly.
 */
export async function save(content: AsyncIterable<Uint8Array> | Iterable<string>, file: string): Promise<void> {
	const existing = await stat(file).catch(() => undefined);
	if (existing && !existing.isFile()) return pipeline(content, createWriteStream(file));
	const target = existing ? await realpath(file) : file;
	const partial = `${target}.${process.pid}.partial`;
	try {
		await pipeline(content, createWriteStream(partial, { flags: "wx" }));
		await rename(partial, target);
	} catch (error) {
		// Errors name the partial file, whose name the user does not know.
		const isOurs = error instanceof Error && "path" in error && error.path === partial;
		throw isOurs ? Object.assign(error, { path: file }) : error;
	} finally {
		await rm(partial, { force: true });
	}
}
