/** The `fs/*` methods: what a client may do with the files of this host, one call on the file system each. */

import type { Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, realpath, rm, rmdir, stat, unlink } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { type Method, type Methods, method } from "../../json-rpc/methods.ts";
import {
	boolean,
	type Decode,
	fromBase64,
	object,
	oneOf,
	optional,
	refusal,
	string,
	unlessAbsent,
	unsigned,
} from "../../json-rpc/params.ts";
import { nativePath, type PathUri, pathUri, toPathUri } from "../path-uri.ts";
import { restrictsFiles, sandbox } from "../sandbox.ts";
import { notConfined, type RunConfined } from "./confined.ts";
import { copy } from "./copy.ts";
import { listDirectory } from "./directory.ts";
import { fromSystem, isError } from "./errors.ts";
import type { FileHandles } from "./handles.ts";
import { makeDirectories, withoutLinks, withReadable, withWritable } from "./paths.ts";
import { walk, walkOptions } from "./walk.ts";

/** What fits in one frame of 16 MiB in base64, with room for the rest of the answer. */
const MAX_READ_BYTES = 12 * 1024 * 1024 - 48 * 1024;

const READ_BYTES = 256 * 1024;

/** What all methods here belong to. */
export const fileFamily = "filesystem";

const target = { path: pathUri };
const linkTarget = { ...target, followSymlinks: optional(boolean, true) };

const openMode = unlessAbsent(oneOf("read", "replace"), "read" as const);

type LinkTarget = { readonly path: PathUri; readonly followSymlinks: boolean };

/** The methods of one connection, which keeps `handles` open between them; without `runConfined` none runs in a sandbox. */
export function createFileMethods(handles: FileHandles, runConfined?: RunConfined): Methods {
	const about = <Params>(name: string, decode: Decode<Params>, run: Run<Params>): [string, Method] => [
		name,
		pathMethod(name, decode, run, runConfined),
	];
	return new Map([
		about("fs/readFile", object(linkTarget), readFile),
		about("fs/writeFile", object({ ...linkTarget, dataBase64: string }), writeFile),
		about("fs/createDirectory", object({ ...linkTarget, recursive: optional(boolean, true) }), createDirectory),
		about("fs/getMetadata", object(linkTarget), getMetadata),
		about("fs/canonicalize", object(target), canonicalize),
		about("fs/readDirectory", object(target), readDirectory),
		about("fs/walk", object({ ...target, options: walkOptions }), ({ path, options }, signal) =>
			walk(nativePath(path), options, signal),
		),
		about(
			"fs/remove",
			object({ ...linkTarget, recursive: optional(boolean, true), force: optional(boolean, true) }),
			remove,
		),
		about(
			"fs/copy",
			object({ sourcePath: pathUri, destinationPath: pathUri, recursive: boolean }),
			async ({ sourcePath, destinationPath, recursive }, signal) => {
				await copy({ source: nativePath(sourcePath), target: nativePath(destinationPath) }, recursive, signal);
				return {};
			},
		),
		[
			"fs/open",
			// A handle would have to live in the sandbox; we say that we have none such (`sandboxedFileStreaming`).
			pathMethod(
				"fs/open",
				object({ ...target, handleId: string, mode: openMode }),
				async ({ handleId, path, mode }) => {
					// Nor for writing (`fileWriteStreaming`).
					if (mode !== "read") throw refusal("files are opened for reading only by this exec-server");
					await handles.open(handleId, nativePath(path));
					return { handleId };
				},
			),
		],
		[
			"fs/readBlock",
			fileMethod(object({ handleId: string, offset: unsigned, len: unsigned }), async ({ handleId, offset, len }) => {
				const { bytes, eof } = await handles.read(handleId, offset, len);
				return { chunk: bytes.toString("base64"), eof };
			}),
		],
		[
			"fs/close",
			fileMethod(object({ handleId: string }), async ({ handleId }) => {
				await handles.close(handleId);
				return {};
			}),
		],
	]);
}

type Run<Params> = (params: Params, signal: AbortSignal) => Promise<unknown>;

/** A method about a path, which a client may want to run in a sandbox. */
function pathMethod<Params>(name: string, decode: Decode<Params>, run: Run<Params>, runConfined?: RunConfined): Method {
	const decodeSandbox = object({ sandbox: optional(sandbox, null) });
	return fileMethod(
		(params) => ({ request: decode(params), params, ...decodeSandbox(params) }),
		async ({ request, params, sandbox }, signal) => {
			if (sandbox === null || !restrictsFiles(sandbox)) return run(request, signal);
			if (!runConfined) throw notConfined();
			return runConfined({ method: name, params: withoutSandbox(params) }, sandbox, signal);
		},
	);
}

function withoutSandbox(params: unknown): unknown {
	return { ...(params as object), sandbox: null };
}

/** What the kernel refuses is said as this wire says it. */
function fileMethod<Params>(decode: Decode<Params>, run: Run<Params>): Method {
	return method({
		family: fileFamily,
		decode,
		run: (params, signal) =>
			run(params, signal).catch((error: unknown) => {
				throw fromSystem(error);
			}),
	});
}

/** Gives `act` the path, or one that no link can bend if links are not to be followed. */
function reach<T>({ path, followSymlinks }: LinkTarget, act: (path: Buffer) => Promise<T>): Promise<T> {
	const native = nativePath(path);
	return followSymlinks ? act(native) : withoutLinks(native, act);
}

async function readFile(params: LinkTarget, signal: AbortSignal): Promise<unknown> {
	const bytes = await reach(params, (path) =>
		withReadable(path, nativePath(params.path), params, (file) => readAll(file, signal)),
	);
	return { dataBase64: bytes.toString("base64") };
}

/** To the end and not to the size, which is zero for the files of /proc and old for those that grow. */
async function readAll(file: FileHandle, signal: AbortSignal): Promise<Buffer> {
	const block = Buffer.allocUnsafe(READ_BYTES);
	const blocks: Buffer[] = [];
	for (let total = 0; total <= MAX_READ_BYTES; ) {
		signal.throwIfAborted();
		const { bytesRead } = await file.read(block, 0, block.length, null);
		if (bytesRead === 0) return Buffer.concat(blocks, total);
		// A copy, no larger than what was read: some files give a few bytes at a time.
		blocks.push(Buffer.from(block.subarray(0, bytesRead)));
		total += bytesRead;
	}
	throw new RpcError(
		rpcCodes.invalidRequest,
		`file is too large to read at once: limit is ${MAX_READ_BYTES} bytes; fs/open and fs/readBlock have none`,
	);
}

async function writeFile(params: LinkTarget & { readonly dataBase64: string }): Promise<unknown> {
	const bytes = fromBase64(params.dataBase64);
	if (!bytes)
		throw new RpcError(rpcCodes.invalidRequest, "fs/writeFile requires valid base64 dataBase64: invalid base64");
	await reach(params, (path) =>
		withWritable(path, nativePath(params.path), params, async (file) => {
			await file.truncate(0);
			await file.writeFile(bytes);
		}),
	);
	return {};
}

async function createDirectory(params: LinkTarget & { readonly recursive: boolean }): Promise<unknown> {
	if (params.recursive) await makeDirectories(nativePath(params.path), params);
	else await reach(params, (path) => mkdir(path));
	return {};
}

/** Of what a link leads to, except that it is a link; where links are not followed, there is none. */
async function getMetadata(params: LinkTarget): Promise<unknown> {
	return reach(params, async (path) => {
		const itself = await lstat(path);
		const isSymlink = itself.isSymbolicLink();
		if (isSymlink && !params.followSymlinks) throw crossesLink();
		return metadata(isSymlink ? await stat(path) : itself, isSymlink);
	});
}

function crossesLink(): RpcError {
	return new RpcError(rpcCodes.invalidRequest, "path contains a symbolic link");
}

function metadata(stats: Stats, isSymlink: boolean): unknown {
	return {
		isDirectory: stats.isDirectory(),
		isFile: stats.isFile(),
		isSymlink,
		size: stats.size,
		createdAtMs: Math.max(0, Math.trunc(stats.birthtimeMs)),
		modifiedAtMs: Math.max(0, Math.trunc(stats.mtimeMs)),
	};
}

async function canonicalize({ path }: { readonly path: PathUri }): Promise<unknown> {
	return { path: toPathUri(await realpath(nativePath(path), { encoding: "buffer" })) };
}

async function readDirectory({ path }: { readonly path: PathUri }, signal: AbortSignal): Promise<unknown> {
	const entries = await listDirectory(nativePath(path), signal);
	return {
		entries: entries.map(({ name, isDirectory, isFile }) => ({ fileName: name.toString(), isDirectory, isFile })),
	};
}

/** Removes a link and never what it leads to; where links are not to be met at all, not even that. */
async function remove(params: LinkTarget & { readonly recursive: boolean; readonly force: boolean }): Promise<unknown> {
	if (params.recursive && !params.followSymlinks)
		throw new RpcError(rpcCodes.internal, "recursive no-follow removal is unsupported");
	try {
		await reach(params, async (path) => {
			const itself = await lstat(path);
			if (itself.isSymbolicLink() && !params.followSymlinks) throw crossesLink();
			if (!itself.isDirectory()) await unlink(path);
			else if (params.recursive) await rm(path, { recursive: true });
			else await rmdir(path);
		});
	} catch (error) {
		if (!params.force || !isError(error, "ENOENT")) throw error;
	}
	return {};
}
