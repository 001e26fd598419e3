/** `GET /files/download`: sends a file, a byte range, or a range of lines. */

import { constants, type Stats } from "node:fs";
import { type FileHandle, statfs } from "node:fs/promises";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { onAnswerClosed } from "../../../../http/answer.ts";
import { openRegular } from "../../../../services/host/regular-file.ts";
import { ExecdError } from "../errors.ts";
import { refusal } from "../request-body.ts";
import { absoluteLiteral, type BytePath, baseOf, onDisk, type PathContext, shown } from "./byte-path.ts";
import { fileError, withFileErrors } from "./errors.ts";
import type { Query } from "./query.ts";
import { type Range, rangeOf } from "./ranges.ts";
import { inBlocks, sendBlocks } from "./streamed-answer.ts";
import { selectLines } from "./text-lines.ts";

/** Bytes per read. A transfer uses about twice as much memory. */
const READ_BYTES = 256 * 1024;

export async function download(
	request: FastifyRequest,
	reply: FastifyReply,
	{ query, around }: { readonly query: Query; readonly around: PathContext },
): Promise<FastifyReply> {
	const given = query.path();
	const { range } = request.headers;
	const isByLines = query.one("offset") !== undefined || query.one("limit") !== undefined;
	if (isByLines && range !== undefined)
		throw refusal("line-based reading (offset/limit) and byte range (Range header) are mutually exclusive");
	const path = absoluteLiteral(given, around);
	const file = await withFileErrors(fileError, () => openFile(path));
	// Also if the response fails, or no content was read.
	onAnswerClosed(reply, () => void file.close().catch(() => {}));
	if (isByLines) return sendLines(reply, file, query);
	const stats = await file.stat();
	if (await hasUnknownSize(path, stats))
		return withFileErrors(fileError, () => sendBlocks(asAttachment(reply, path), inBlocks(readAll(file))));
	return sendBytes(request, reply, { file, stats, path });
}

async function openFile(path: BytePath): Promise<FileHandle> {
	const file = await openRegular(onDisk(path), constants.O_RDONLY);
	if (!file) throw refusal(`${shown(path)} is not a regular file`);
	return file;
}

async function sendLines(reply: FastifyReply, file: FileHandle, query: Query): Promise<FastifyReply> {
	const selection = { offset: query.integer("offset", 1) ?? 1, limit: query.integer("limit", 1) ?? Infinity };
	reply.type("text/plain; charset=utf-8");
	return withFileErrors(fileError, () => sendBlocks(reply, inBlocks(selectLines(readAll(file), selection))));
}

type Opened = { readonly file: FileHandle; readonly stats: Stats; readonly path: BytePath };

function sendBytes(request: FastifyRequest, reply: FastifyReply, { file, stats, path }: Opened): FastifyReply {
	const { size } = stats;
	const modified = stats.mtime.toUTCString();
	if (isUnchanged(request, stats)) return reply.code(304).header("last-modified", modified).send();
	const requested = rangeOf(request.headers.range, size);
	if (requested === "malformed" || requested === "unsatisfiable") {
		reply.header("content-range", `bytes */${size}`);
		const why = requested === "malformed" ? "not a byte range" : "failed to overlap";
		throw new ExecdError(416, "UNKNOWN", `invalid range: ${why}`);
	}
	const part: Range = requested === "all" ? { start: 0, end: size } : requested;
	asAttachment(reply, path).header("content-length", part.end - part.start);
	if (requested === "all") reply.header("accept-ranges", "bytes").header("last-modified", modified);
	else reply.code(206).header("content-range", `bytes ${part.start}-${part.end - 1}/${size}`);
	return reply.send(Readable.from(readPart(file, part), { objectMode: false }));
}

/** HTTP dates have a resolution of one second. */
function isUnchanged({ headers }: FastifyRequest, { mtimeMs }: Stats): boolean {
	const since = Date.parse(headers["if-modified-since"] ?? "");
	return Math.floor(mtimeMs / 1000) * 1000 <= since;
}

/** Yields exactly these bytes. If the file shrinks meanwhile, the connection is aborted, so that the client notices. */
async function* readPart(file: FileHandle, { start, end }: Range): AsyncGenerator<Buffer, void, void> {
	for (let at = start; at < end; ) {
		const block = await readBlock(file, Math.min(READ_BYTES, end - at), at);
		if (block.length === 0) throw new Error("the file shrank while it was sent");
		at += block.length;
		yield block;
	}
}

async function* readAll(file: FileHandle): AsyncGenerator<Buffer, void, void> {
	for (;;) {
		const block = await readBlock(file, READ_BYTES, null);
		if (block.length === 0) return;
		yield block;
	}
}

async function readBlock(file: FileHandle, bytes: number, at: number | null): Promise<Buffer> {
	const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, at);
	return buffer.subarray(0, bytesRead);
}

/** File systems like `/proc` and `/sys`, whose files report no useful size (`statfs(2)`). */
const sizelessSystems: ReadonlySet<number> = new Set([
	0x9fa0, 0x62656572, 0x63677270, 0x27e0eb, 0x64626720, 0x74726163,
]);

async function hasUnknownSize(path: BytePath, { size }: Stats): Promise<boolean> {
	// Files there report sizes of at most one page.
	if (size > 4096) return false;
	return sizelessSystems.has((await statfs(onDisk(path))).type);
}

function asAttachment(reply: FastifyReply, path: BytePath): FastifyReply {
	const name = baseOf(path);
	const isPlain = /^[\x20-\x7e]*$/.test(name);
	const quoted = isPlain ? name.replace(/["\\]/g, "\\$&") : percentEncoded(name);
	const extended = isPlain ? "" : `; filename*=UTF-8''${quoted}`;
	return reply
		.type("application/octet-stream")
		.header("content-disposition", `attachment; filename="${quoted}"${extended}`);
}

function percentEncoded(name: BytePath): string {
	return name.replace(
		/[^A-Za-z0-9._~-]/g,
		(byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
	);
}
