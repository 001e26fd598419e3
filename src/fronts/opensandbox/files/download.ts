/** `GET /files/download`: a file's bytes, a part of them, or some of its lines. */

import { constants, type Stats } from "node:fs";
import { type FileHandle, statfs } from "node:fs/promises";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { whenOver } from "../../front.ts";
import { openRegular } from "../../regular-file.ts";
import { ExecdError } from "../answers.ts";
import { refusal } from "../body.ts";
import { type BytePath, baseOf, onDisk, type Surroundings, shown, toTheLetter } from "./byte-path.ts";
import { fileError, saying } from "./errors.ts";
import type { Query } from "./query.ts";
import { type Range, rangeOf } from "./ranges.ts";
import { inBlocks, sendBlocks } from "./send.ts";
import { selectLines } from "./text-lines.ts";

/** Read at once, and so what a transfer takes of memory, with about as much on its way. */
const READ_BYTES = 256 * 1024;

export async function download(
	request: FastifyRequest,
	reply: FastifyReply,
	{ query, around }: { readonly query: Query; readonly around: Surroundings },
): Promise<FastifyReply> {
	const given = query.path();
	const { range } = request.headers;
	const isByLines = query.one("offset") !== undefined || query.one("limit") !== undefined;
	if (isByLines && range !== undefined)
		throw refusal("line-based reading (offset/limit) and byte range (Range header) are mutually exclusive");
	const path = toTheLetter(given, around);
	const file = await saying(fileError, () => openFile(path));
	// Whatever becomes of the answer, and whether any of it was read.
	whenOver(reply, () => void file.close().catch(() => {}));
	if (isByLines) return sendLines(reply, file, query);
	const stats = await file.stat();
	if (await hasUnknownSize(path, stats))
		return saying(fileError, () => sendBlocks(asAttachment(reply, path), inBlocks(readAll(file))));
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
	return saying(fileError, () => sendBlocks(reply, inBlocks(selectLines(readAll(file), selection))));
}

type Opened = { readonly file: FileHandle; readonly stats: Stats; readonly path: BytePath };

function sendBytes(request: FastifyRequest, reply: FastifyReply, { file, stats, path }: Opened): FastifyReply {
	const { size } = stats;
	const modified = stats.mtime.toUTCString();
	if (isUnchanged(request, stats)) return reply.code(304).header("last-modified", modified).send();
	const asked = rangeOf(request.headers.range, size);
	if (asked === "malformed" || asked === "unsatisfiable") {
		reply.header("content-range", `bytes */${size}`);
		const why = asked === "malformed" ? "it can't be read" : "failed to overlap";
		throw new ExecdError(416, "UNKNOWN", `invalid range: ${why}`);
	}
	const part: Range = asked === "all" ? { start: 0, end: size } : asked;
	asAttachment(reply, path).header("content-length", part.end - part.start);
	if (asked === "all") reply.header("accept-ranges", "bytes").header("last-modified", modified);
	else reply.code(206).header("content-range", `bytes ${part.start}-${part.end - 1}/${size}`);
	return reply.send(Readable.from(readPart(file, part), { objectMode: false }));
}

/** Seconds are all that these dates have. */
function isUnchanged({ headers }: FastifyRequest, { mtimeMs }: Stats): boolean {
	const since = Date.parse(headers["if-modified-since"] ?? "");
	return Math.floor(mtimeMs / 1000) * 1000 <= since;
}

/** Exactly these bytes: one that has become shorter meanwhile ends the connection, so that nobody takes it for whole. */
async function* readPart(file: FileHandle, { start, end }: Range): AsyncGenerator<Buffer, void, void> {
	for (let at = start; at < end; ) {
		const block = await readBlock(file, Math.min(READ_BYTES, end - at), at);
		if (block.length === 0) throw new Error("the file has become shorter while it was sent");
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

/** Of `/proc`, `/sys` and their like, whose files have no size, or one that says nothing (`statfs(2)`). */
const sizelessSystems: ReadonlySet<number> = new Set([
	0x9fa0, 0x62656572, 0x63677270, 0x27e0eb, 0x64626720, 0x74726163,
]);

async function hasUnknownSize(path: BytePath, { size }: Stats): Promise<boolean> {
	// Only these have files that are so small by their own word.
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
