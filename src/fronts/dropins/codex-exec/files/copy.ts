/** `fs/copy`: copies a file, a link as a link, or a directory with its contents. */

import type { Stats } from "node:fs";
import { type FileHandle, lstat, readlink, realpath, symlink } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { entriesOf } from "./directory.ts";
import { join, makeDirectories, withReadable, withWritable } from "./paths.ts";

const BLOCK_BYTES = 256 * 1024;

const followLinks = { followSymlinks: true } as const;

type Pair = { readonly source: Buffer; readonly target: Buffer };

export async function copy(pair: Pair, isRecursive: boolean, signal: AbortSignal): Promise<void> {
	const type = await lstat(pair.source);
	if (type.isDirectory()) {
		if (!isRecursive) throw refused("fs/copy requires recursive: true when sourcePath is a directory");
		if (await isInside(pair)) throw refused("fs/copy cannot copy a directory to itself or one of its descendants");
		return copyDirectory(pair, signal);
	}
	if (!(await copyLeaf(pair, type, signal)))
		throw refused("fs/copy only supports regular files, directories, and symlinks");
}

async function copyDirectory(root: Pair, signal: AbortSignal): Promise<void> {
	const directories = [root];
	for (let next = directories.pop(); next; next = directories.pop()) {
		await makeDirectories(next.target, followLinks);
		for await (const { name, type } of entriesOf(next.source)) {
			signal.throwIfAborted();
			const pair = { source: join(next.source, name), target: join(next.target, name) };
			if (type.isDirectory()) directories.push(pair);
			else await copyLeaf(pair, type, signal);
		}
	}
}

/** False for pipes, sockets and devices, which are not copied. */
async function copyLeaf(
	pair: Pair,
	type: Pick<Stats, "isSymbolicLink" | "isFile">,
	signal: AbortSignal,
): Promise<boolean> {
	if (type.isSymbolicLink()) await copyLink(pair);
	else if (type.isFile()) await copyFile(pair, signal);
	else return false;
	return true;
}

async function copyLink({ source, target }: Pair): Promise<void> {
	await symlink(await readlink(source, { encoding: "buffer" }), target);
}

/** Not fs.copyFile: if the target is a pipe, that would block one of Node's few threads until a reader opens it. */
async function copyFile({ source, target }: Pair, signal: AbortSignal): Promise<void> {
	await withReadable(source, source, followLinks, (from) =>
		withWritable(target, target, followLinks, async (to) => {
			const [origin, present] = await Promise.all([from.stat(), to.stat()]);
			// Source and target are the same file; truncating it would lose the content.
			if (origin.dev === present.dev && origin.ino === present.ino) return;
			await to.truncate(0);
			await copyBytes(from, to, signal);
			await to.chmod(origin.mode & 0o7777);
		}),
	);
}

async function copyBytes(from: FileHandle, to: FileHandle, signal: AbortSignal): Promise<void> {
	const block = Buffer.allocUnsafe(BLOCK_BYTES);
	for (;;) {
		signal.throwIfAborted();
		const { bytesRead } = await from.read(block, 0, block.length, null);
		if (bytesRead === 0) return;
		await to.writeFile(block.subarray(0, bytesRead));
	}
}

/** Whether the target is the source or lies inside it, with all links resolved. */
async function isInside({ source, target }: Pair): Promise<boolean> {
	const outer = await resolved(source);
	const inner = await resolved(target);
	const boundary = outer.equals(Buffer.from("/")) ? outer : Buffer.concat([outer, Buffer.from("/")]);
	return inner.equals(outer) || inner.subarray(0, boundary.length).equals(boundary);
}

/** Resolves links in the existing part of the path; the rest stays as spelled. */
async function resolved(path: Buffer): Promise<Buffer> {
	try {
		return await realpath(path, { encoding: "buffer" });
	} catch (error) {
		const slash = path.lastIndexOf("/");
		if (path.length === 1) throw error;
		return join(await resolved(path.subarray(0, Math.max(slash, 1))), path.subarray(slash + 1));
	}
}

function refused(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}
