/** The `fs/*` methods. Each is one operation on this host's file system. */

import type { Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, realpath, rm, rmdir, stat, unlink } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { type Method, type Methods, method } from "../methods.ts";
import { nativePath, type PathUri, pathUri, toPathUri } from "../path-uri.ts";
import { restrictsFiles, sandbox } from "../sandbox.ts";
import { copy } from "./copy.ts";
import { listDirectory } from "./directory.ts";
import { fromSystem, isError } from "./errors.ts";
import type { FileHandles } from "./handles.ts";
import { makeDirectories, withoutLinks, withReadable, withWritable } from "./paths.ts";
import { notConfined, type RunConfined } from "./sandboxed.ts";
import { walk, walkOptions } from "./walk.ts";

/** Fits in a 16 MiB frame as base64, with space for the rest of the answer. */
const MAX_READ_BYTES = 12 * 1024 * 1024 - 48 * 1024;

const READ_BYTES = 256 * 1024;

/** The family of all methods here. */
export const fileFamily = "filesystem";

const target = { path: pathUri };
const linkTarget = { ...target, followSymlinks: rpc.optional(rpc.boolean, true) };

const openMode = rpc.unlessAbsent(rpc.oneOf("read", "replace"), "read" as const);

type LinkTarget = { readonly path: PathUri; readonly followSymlinks: boolean };

/** Decides whether file methods run inside or outside a sandbox. */
export type FileConfinement = {
	readonly runConfined: RunConfined;
	/** Throws if running outside a sandbox is not allowed. */
	readonly checkUnconfined: () => void;
};

/**
 * The methods of one connection. `handles` are its open files. Without `confinement`, sandboxed requests are refused.
 */
export function createFileMethods(handles: FileHandles, confinement?: FileConfinement): Methods {
	const about = <Params>(name: string, decode: rpc.Decode<Params>, run: Run<Params>): [string, Method] => [
		name,
		pathMethod(name, decode, run, confinement),
	];
	return new Map([
		about("fs/readFile", rpc.object(linkTarget), readFile),
		about("fs/writeFile", rpc.object({ ...linkTarget, dataBase64: rpc.string }), writeFile),
		about(
			"fs/createDirectory",
			rpc.object({ ...linkTarget, recursive: rpc.optional(rpc.boolean, true) }),
			createDirectory,
		),
		about("fs/getMetadata", rpc.object(linkTarget), getMetadata),
		about("fs/canonicalize", rpc.object(target), canonicalize),
		about("fs/readDirectory", rpc.object(target), readDirectory),
		about("fs/walk", rpc.object({ ...target, options: walkOptions }), ({ path, options }, signal) =>
			walk(nativePath(path), options, signal),
		),
		about(
			"fs/remove",
			rpc.object({ ...linkTarget, recursive: rpc.optional(rpc.boolean, true), force: rpc.optional(rpc.boolean, true) }),
			remove,
		),
		about(
			"fs/copy",
			rpc.object({ sourcePath: pathUri, destinationPath: pathUri, recursive: rpc.boolean }),
			async ({ sourcePath, destinationPath, recursive }, signal) => {
				await copy({ source: nativePath(sourcePath), target: nativePath(destinationPath) }, recursive, signal);
				return {};
			},
		),
		[
			"fs/open",
			// A handle would have to live in the sandbox. We report that as unsupported (`sandboxedFileStreaming`).
			pathMethod(
				"fs/open",
				rpc.object({ ...target, handleId: rpc.string, mode: openMode }),
				async ({ handleId, path, mode }) => {
					confinement?.checkUnconfined();
					// Writing through a handle is unsupported too (`fileWriteStreaming`).
					if (mode !== "read") throw rpc.refusal("files are opened for reading only by this exec-server");
					await handles.open(handleId, nativePath(path));
					return { handleId };
				},
			),
		],
		[
			"fs/readBlock",
			fileMethod(
				rpc.object({ handleId: rpc.string, offset: rpc.unsigned, len: rpc.unsigned }),
				async ({ handleId, offset, len }) => {
					const { bytes, eof } = await handles.read(handleId, offset, len);
					return { chunk: bytes.toString("base64"), eof };
				},
			),
		],
		[
			"fs/close",
			fileMethod(rpc.object({ handleId: rpc.string }), async ({ handleId }) => {
				await handles.close(handleId);
				return {};
			}),
		],
	]);
}

type Run<Params> = (params: Params, signal: AbortSignal) => Promise<unknown>;

/** A method with a path, which the client may run in a sandbox. */
function pathMethod<Params>(
	name: string,
	decode: rpc.Decode<Params>,
	run: Run<Params>,
	confinement?: FileConfinement,
): Method {
	const decodeSandbox = rpc.object({ sandbox: rpc.optional(sandbox, null) });
	return fileMethod(
		(params) => ({ request: decode(params), params, ...decodeSandbox(params) }),
		async ({ request, params, sandbox }, signal) => {
			if (sandbox === null || !restrictsFiles(sandbox)) {
				confinement?.checkUnconfined();
				return run(request, signal);
			}
			if (!confinement) throw notConfined();
			return confinement.runConfined({ method: name, params: withoutSandbox(params) }, sandbox, signal);
		},
	);
}

function withoutSandbox(params: unknown): unknown {
	return { ...(params as object), sandbox: null };
}

/** Converts system errors. */
function fileMethod<Params>(decode: rpc.Decode<Params>, run: Run<Params>): Method {
	return method({
		family: fileFamily,
		decode,
		run: (params, signal) =>
			run(params, signal).catch((error: unknown) => {
				throw fromSystem(error);
			}),
	});
}

/** Calls `act` with the path, or with one that contains no links if links must not be followed. */
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

/** Reads to the end, not up to the size: files in /proc have size zero, and files may grow. */
async function readAll(file: FileHandle, signal: AbortSignal): Promise<Buffer> {
	const block = Buffer.allocUnsafe(READ_BYTES);
	const blocks: Buffer[] = [];
	for (let total = 0; total <= MAX_READ_BYTES; ) {
		signal.throwIfAborted();
		const { bytesRead } = await file.read(block, 0, block.length, null);
		if (bytesRead === 0) return Buffer.concat(blocks, total);
		// A copy of the exact size: some files return a few bytes per read.
		blocks.push(Buffer.from(block.subarray(0, bytesRead)));
		total += bytesRead;
	}
	throw new RpcError(
		rpcCodes.invalidRequest,
		`file is too large to read at once: limit is ${MAX_READ_BYTES} bytes; fs/open and fs/readBlock have none`,
	);
}

async function writeFile(params: LinkTarget & { readonly dataBase64: string }): Promise<unknown> {
	const bytes = rpc.fromBase64(params.dataBase64);
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

/**
 * Describes the target of a link, plus the fact that it is a link. If links must not be followed, links are refused.
 */
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

/** Removes a link, never its target. If links must not be followed, links are refused. */
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
