/** What is in a directory, with names as bytes. */

import type { Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { join } from "./paths.ts";

/** Sent in one answer; what is beyond it the client's parser would refuse to read. */
const MAX_ENTRIES = 50_000;

export type DirectoryEntry = {
	readonly name: Buffer;
	/** What it is, or what it leads to. */
	readonly isDirectory: boolean;
	readonly isFile: boolean;
	readonly isSymlink: boolean;
};

/** Goes through a directory in the order the kernel gives, never holding much of it. */
export async function* entriesOf(path: Buffer): AsyncGenerator<{ readonly name: Buffer; readonly type: Dirent }> {
	// A character for each byte, so that every name comes back as it is on the disk.
	for await (const type of await opendir(path, { encoding: "latin1" })) {
		yield { name: Buffer.from(type.name, "latin1"), type };
	}
}

/** Everything in a directory, except links that lead nowhere. */
export async function listDirectory(
	path: Buffer,
	signal: AbortSignal,
	maxEntries: number = MAX_ENTRIES,
): Promise<DirectoryEntry[]> {
	const entries: DirectoryEntry[] = [];
	for await (const { name, type } of entriesOf(path)) {
		signal.throwIfAborted();
		const isSymlink = type.isSymbolicLink();
		const found = isSymlink ? await stat(join(path, name)).catch(() => undefined) : type;
		if (!found) continue;
		if (entries.length === maxEntries)
			throw new RpcError(rpcCodes.invalidRequest, `directory has more than ${maxEntries} entries`);
		entries.push({ name, isDirectory: found.isDirectory(), isFile: found.isFile(), isSymlink });
	}
	return entries;
}
