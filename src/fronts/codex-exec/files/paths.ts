/** Ways to a file: by a path that no link can bend, and to regular files only, which never make the opener wait. */

import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, stat } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { openRegular } from "../../regular-file.ts";

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Linux: names a place without opening it, so that nothing but the right to pass through is needed. */
const O_PATH = 0x200000;

type Links = { readonly followSymlinks: boolean };

const SEPARATOR = Buffer.from("/");

export function join(directory: Buffer, name: Buffer): Buffer {
	return Buffer.concat(directory.equals(SEPARATOR) ? [SEPARATOR, name] : [directory, SEPARATOR, name]);
}

/** Makes a directory and those on the way to it; what is there already is fine if it is a directory. */
export async function makeDirectories(path: Buffer, { followSymlinks }: Links): Promise<void> {
	// Before anything is made: a path that is refused leaves nothing behind.
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

/** Every directory on the way to a path, and the path itself, the outermost first. */
function prefixes(path: Buffer): Buffer[] {
	const all: Buffer[] = [];
	for (let end = path.indexOf("/", 1); end >= 0; end = path.indexOf("/", end + 1)) all.push(path.subarray(0, end));
	return [...all, path];
}

/**
 * Gives `act` another name of `path` that leads there by no link, even if somebody puts one in the way meanwhile:
 * each directory is held while the next one is looked up in it. The last name may still be a link.
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

/** Opens a file for reading and gives it to `act`; `named` is what it is called in a refusal. */
export async function withReadable<T>(
	path: Buffer,
	named: Buffer,
	{ followSymlinks }: Links,
	act: (file: FileHandle) => Promise<T>,
): Promise<T> {
	const file = await openFile(path, named, O_RDONLY | (followSymlinks ? 0 : O_NOFOLLOW));
	return act(file).finally(() => file.close());
}

/** Opens a file for reading that the caller closes. */
export function openReadable(path: Buffer): Promise<FileHandle> {
	return openFile(path, path, O_RDONLY);
}

/** Opens or makes a file and gives it to `act`, which finds in it what was there. */
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

/** The names a path is made of; those that are no names have no place in a path that must mean what it says. */
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
