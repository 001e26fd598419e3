/** Saves what a command was asked for in a file. */

import { createWriteStream } from "node:fs";
import { realpath, rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/** Whole, or not at all: half a recording would play, and end in the middle. A device or a pipe is written to as it is. */
export async function save(content: AsyncIterable<Uint8Array> | Iterable<string>, file: string): Promise<void> {
	const existing = await stat(file).catch(() => undefined);
	if (existing && !existing.isFile()) return pipeline(content, createWriteStream(file));
	const target = existing ? await realpath(file) : file;
	const partial = `${target}.${process.pid}.partial`;
	try {
		await pipeline(content, createWriteStream(partial, { flags: "wx" }));
		await rename(partial, target);
	} catch (error) {
		// Of another name nobody knows.
		const isOurs = error instanceof Error && "path" in error && error.path === partial;
		throw isOurs ? Object.assign(error, { path: file }) : error;
	} finally {
		await rm(partial, { force: true });
	}
}
