/** Files that a connection has open for reading in blocks, by the client's names. */

import type { FileHandle } from "node:fs/promises";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { NOT_FOUND } from "./errors.ts";
import { openReadable } from "./paths.ts";

const MAX_HANDLES = 128;
const MAX_ID_BYTES = 32;

/** Bytes in one answer. */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** 9 PB; numbers above are not exact. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER - MAX_BLOCK_BYTES;

type Block = {
	readonly bytes: Buffer;
	/** Whether fewer bytes than requested were left. False for a block that ends exactly at the end. */
	readonly eof: boolean;
};

/** The open files of one connection. */
export class FileHandles {
	/** A name is reserved while its file is being opened. */
	readonly #files = new Map<string, Promise<FileHandle>>();
	#isClosed = false;

	async open(id: string, path: Buffer): Promise<void> {
		if (Buffer.byteLength(id) > MAX_ID_BYTES) throw refused(`file read handle id exceeds ${MAX_ID_BYTES} bytes`);
		if (this.#files.has(id)) throw refused(`file read handle \`${id}\` is already open`);
		if (this.#files.size >= MAX_HANDLES || this.#isClosed)
			throw refused(`at most ${MAX_HANDLES} file reads may be open per connection`);
		const file = openReadable(path);
		this.#files.set(id, file);
		try {
			await file;
		} catch (error) {
			this.#forget(id, file);
			throw error;
		}
	}

	async read(id: string, offset: number, length: number): Promise<Block> {
		if (length < 1 || length > MAX_BLOCK_BYTES)
			throw refused(`file read block length must be between 1 and ${MAX_BLOCK_BYTES}`);
		if (offset > MAX_OFFSET) throw refused("file read offset is too large");
		const file = this.#files.get(id);
		if (!file) throw unknown(id);
		try {
			return await readBlock(await file, offset, length);
		} catch (error) {
			// If the client closed the file during the read, the system error is meaningless.
			if (!this.#forget(id, file)) throw unknown(id);
			await close(file);
			throw error;
		}
	}

	/** No effect if it is not open. */
	async close(id: string): Promise<void> {
		const file = this.#files.get(id);
		if (!file) return;
		this.#files.delete(id);
		await close(file);
	}

	async closeAll(): Promise<void> {
		this.#isClosed = true;
		await Promise.all([...this.#files.keys()].map((id) => this.close(id)));
	}

	/** False if the name was released or reused in the meantime. */
	#forget(id: string, file: Promise<FileHandle>): boolean {
		return this.#files.get(id) === file && this.#files.delete(id);
	}
}

async function readBlock(file: FileHandle, offset: number, length: number): Promise<Block> {
	const bytes = Buffer.allocUnsafe(length);
	let filled = 0;
	while (filled < length) {
		const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return { bytes: bytes.subarray(0, filled), eof: filled < length };
}

/** If opening failed, the request has already been answered with the error. */
async function close(file: Promise<FileHandle>): Promise<void> {
	const opened = await file.catch(() => undefined);
	await opened?.close().catch(() => undefined);
}

function refused(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}

function unknown(id: string): RpcError {
	return new RpcError(NOT_FOUND, `unknown file read handle \`${id}\``);
}
