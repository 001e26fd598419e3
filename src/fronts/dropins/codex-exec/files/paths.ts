/** Opens files by paths that contain no links, and only regular files, because others can block the open. */

import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, stat } from "node:fs/promises";
import { openRegular } from "../../../../services/host/regular-file.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Linux: refers to a path without opening it, so it needs only search permission. */
const O_PATH = 0x200000;

type Links = { readonly followSymlinks: boolean };

const SEPARATOR = Buffer.from("/");

export function join(directory: Buffer, name: Buffer): Buffer {
	return Buffer.concat(directory.equals(SEPARATOR) ? [SEPARATOR, name] : [directory, SEPARATOR, name]);
}

/** Creates a directory and its parents. Existing directories are accepted. */
export async function makeDirectories(path: Buffer, { followSymlinks }: Links): Promise<void> {
	// Checked first, so that a refused path creates nothing.
	if (!followSymlinks) components(path);
	for (const prefix of prefixes(path)) {
		if (followSymlinks) await makeDirectory(prefix, stat);
		else await withoutLinks(prefix, (reached) => makeDirectory(reached, lstat));
	}
}

async function makeDirectory(path: Buffer, look: (path: Buffer) => Promise<Stats>): Promise<void> {
	try {
		await mkdir(path);
	} catch (error) {
		const found = await look(path).catch(() => undefined);
		if (!found?.isDirectory()) throw error;
	}
}

/** All parents of a path and the path itself, outermost first. */
function prefixes(path: Buffer): Buffer[] {
	const all: Buffer[] = [];
	for (let end = path.indexOf("/", 1); end >= 0; end = path.indexOf("/", end + 1)) all.push(path.subarray(0, end));
	return [...all, path];
}

/**
 * Calls `act` with an alias of `path` that contains no links, even if another process replaces a parent by a link
 * meanwhile: each directory is held open while the next is looked up in it. The last component may still be a link.
 */
export async function withoutLinks<T>(path: Buffer, act: (path: Buffer) => Promise<T>): Promise<T> {
	const names = components(path);
	const last = names.pop();
	if (last === undefined) return act(path);
	let directory = await open("/", O_PATH | O_DIRECTORY);
	try {
		for (const name of names) {
			const next = await open(inside(directory, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
			await directory.close();
			directory = next;
		}
		return await act(inside(directory, last));
	} finally {
		await directory.close();
	}
}

/** Opens a file for reading and calls `act` with it. `named` is its name in errors. */
export async function withReadable<T>(
	path: Buffer,
	named: Buffer,
	{ followSymlinks }: Links,
	act: (file: FileHandle) => Promise<T>,
): Promise<T> {
	const file = await openFile(path, named, O_RDONLY | (followSymlinks ? 0 : O_NOFOLLOW));
	return act(file).finally(() => file.close());
}

/** Opens a file for reading. The caller closes it. */
export function openReadable(path: Buffer): Promise<FileHandle> {
	return openFile(path, path, O_RDONLY);
}

/** Opens or creates a file without truncating it, and calls `act` with it. */
export async function withWritable(
	path: Buffer,
	named: Buffer,
	{ followSymlinks }: Links,
	act: (file: FileHandle) => Promise<void>,
): Promise<void> {
	const file = await openFile(path, named, O_WRONLY | O_CREAT | (followSymlinks ? 0 : O_NOFOLLOW));
	return act(file).finally(() => file.close());
}

async function openFile(path: Buffer, named: Buffer, flags: number): Promise<FileHandle> {
	const file = await openRegular(path, flags);
	if (file) return file;
	throw new RpcError(rpcCodes.invalidRequest, `path \`${named}\` is not a file`);
}

/** Splits a path into components. `.` and `..` are refused. */
function components(path: Buffer): Buffer[] {
	const names = path
		.toString("latin1")
		.split("/")
		.filter((name) => name !== "");
	if (names.some((name) => name === "." || name === ".."))
		throw new RpcError(rpcCodes.invalidRequest, "path must not contain `.` or `..` components");
	return names.map((name) => Buffer.from(name, "latin1"));
}

function inside(directory: FileHandle, name: Buffer): Buffer {
	return join(Buffer.from(`/proc/self/fd/${directory.fd}`), name);
}
