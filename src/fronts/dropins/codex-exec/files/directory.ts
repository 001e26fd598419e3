/** Lists a directory. Names are bytes because they need not be UTF-8. */

import type { Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { join } from "./paths.ts";

/** Most entries in one answer. The client's parser refuses more. */
const MAX_ENTRIES = 50_000;

export type DirectoryEntry = {
	readonly name: Buffer;
	/** For a link, describes its target. */
	readonly isDirectory: boolean;
	readonly isFile: boolean;
	readonly isSymlink: boolean;
};

/** Iterates over a directory in the kernel's order without holding all of it. */
export async function* entriesOf(path: Buffer): AsyncGenerator<{ readonly name: Buffer; readonly type: Dirent }> {
	// Latin-1 maps each byte to one character, so every name is preserved.
	for await (const type of await opendir(path, { encoding: "latin1" })) {
		yield { name: Buffer.from(type.name, "latin1"), type };
	}
}

/** All entries except dangling links. */
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
