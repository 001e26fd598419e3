/** `fs/walk`: lists everything below a directory, breadth first, within several limits. */

import { lstat, realpath, stat } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { toPathUri } from "../path-uri.ts";
import { type DirectoryEntry, listDirectory } from "./directory.ts";
import { errorText } from "./errors.ts";
import { join } from "./paths.ts";

type WalkOptions = {
	/** Deeper directories are listed but not entered. Zero means the root only. */
	readonly maxDepth: number;
	/** Directories entered, including the root. */
	readonly maxDirectories: number;
	/** Entries examined, listed or not. */
	readonly maxEntries: number;
	readonly followDirectorySymlinks: boolean;
	/** Whether directories with a leading dot are listed but not entered. */
	readonly pruneHiddenDirectories: boolean;
};

export const walkOptions: rpc.Decode<WalkOptions> = rpc.object({
	maxDepth: rpc.unsigned,
	maxDirectories: rpc.unsigned,
	maxEntries: rpc.unsigned,
	followDirectorySymlinks: rpc.boolean,
	pruneHiddenDirectories: rpc.optional(rpc.boolean, false),
});

type Entry = { readonly path: string; readonly kind: "directory" | "file" };

/** An entry that could not be read. */
type Problem = { readonly path: string; readonly message: string };

type WalkResult = {
	readonly entries: readonly Entry[];
	readonly errors: readonly Problem[];
	/** Whether a limit left anything out. */
	readonly truncated: boolean;
};

const MAX_DEPTH = 64;
const MAX_DIRECTORIES = 10_000;
const MAX_ENTRIES = 50_000;

/** Approximate limit of the answer. An entry counts its texts plus the JSON around them. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const ITEM_OVERHEAD_BYTES = 64;

const DOT = 0x2e;

/** A result of the walk; `truncated` where a limit left something out. */
type Found = Entry | Problem | "truncated";

export async function walk(root: Buffer, options: WalkOptions, signal: AbortSignal): Promise<WalkResult> {
	checkLimits(options);
	const entries: Entry[] = [];
	const errors: Problem[] = [];
	let truncated = false;
	let bytes = 0;
	for await (const found of below(root, options, signal)) {
		if (found === "truncated") {
			truncated = true;
			continue;
		}
		bytes += ITEM_OVERHEAD_BYTES + found.path.length + ("message" in found ? found.message.length : 0);
		if (bytes > MAX_RESPONSE_BYTES) return { entries, errors, truncated: true };
		if ("kind" in found) entries.push(found);
		else errors.push(found);
	}
	return { entries, errors, truncated };
}

async function* below(root: Buffer, options: WalkOptions, signal: AbortSignal): AsyncGenerator<Found> {
	if (!(await isEntered(root, options))) return;
	const identity = options.followDirectorySymlinks ? canonical : spelled;
	// Directories visited, by a name that does not depend on links. This ends every cycle.
	const met = new Set([await identity(root)]);
	const queue = [{ directory: root, depth: 0 }];
	let looked = 0;
	// The queue only grows during the loop, so its length is the number of directories entered.
	for (const { directory, depth } of queue) {
		const listed = await attempt(directory, () => listDirectory(directory, signal));
		if ("message" in listed) {
			yield listed;
			continue;
		}
		for (const entry of listed.value.sort((a, b) => Buffer.compare(a.name, b.name))) {
			if (looked++ === options.maxEntries) {
				yield "truncated";
				return;
			}
			const kind = kindOf(entry, options);
			if (!kind) continue;
			const path = join(directory, entry.name);
			yield { path: toPathUri(path), kind };
			const isHidden = options.pruneHiddenDirectories && entry.name[0] === DOT;
			if (kind === "file" || depth === options.maxDepth || isHidden) continue;
			const known = await attempt(path, () => identity(path));
			if ("message" in known) yield known;
			else if (met.has(known.value)) continue;
			else if (queue.length === options.maxDirectories) yield "truncated";
			else {
				met.add(known.value);
				queue.push({ directory: path, depth: depth + 1 });
			}
		}
	}
}

/** A root that is not a directory is not entered. */
async function isEntered(root: Buffer, { followDirectorySymlinks }: WalkOptions): Promise<boolean> {
	if (!(await stat(root)).isDirectory()) return false;
	return followDirectorySymlinks || !(await lstat(root)).isSymbolicLink();
}

/** Leaves out links to files, other file types, and links to directories unless requested. */
function kindOf(entry: DirectoryEntry, { followDirectorySymlinks }: WalkOptions): Entry["kind"] | undefined {
	if (entry.isSymlink && !(entry.isDirectory && followDirectorySymlinks)) return undefined;
	if (entry.isDirectory) return "directory";
	return entry.isFile ? "file" : undefined;
}

/** Reports a failure as an entry of the result, so that the walk continues. */
async function attempt<T>(path: Buffer, act: () => Promise<T>): Promise<{ readonly value: T } | Problem> {
	try {
		return { value: await act() };
	} catch (error) {
		return { path: toPathUri(path), message: errorText(error) };
	}
}

async function canonical(path: Buffer): Promise<string> {
	return (await realpath(path, { encoding: "buffer" })).toString("latin1");
}

async function spelled(path: Buffer): Promise<string> {
	return path.toString("latin1");
}

function checkLimits({ maxDepth, maxDirectories, maxEntries }: WalkOptions): void {
	if (maxDirectories === 0 || maxEntries === 0)
		throw new RpcError(rpcCodes.invalidRequest, "filesystem walk limits must be greater than zero");
	if (maxDepth > MAX_DEPTH || maxDirectories > MAX_DIRECTORIES || maxEntries > MAX_ENTRIES)
		throw new RpcError(
			rpcCodes.invalidRequest,
			`filesystem walk limits are at most ${MAX_DEPTH} deep, ${MAX_DIRECTORIES} directories, ${MAX_ENTRIES} entries`,
		);
}
