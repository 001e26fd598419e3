/** One segment as its writer has it: a file that grows by whole records and is made durable from time to time. */

import { promises as fs, writev } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Mark } from "../core/event.ts";
import { encodeHeader, HEADER_BYTES, nameSegment, type SegmentName } from "./segment.ts";

/** Costs half of what a file handle's own does, and there is one for every batch of a flood. */
const writeAt = promisify(writev);

export class SegmentFile {
	readonly segment: SegmentName;
	readonly #path: string;
	#handle: fs.FileHandle | undefined;
	#size: number;
	/** How far the file may reach; what is past `#size` is no whole record. */
	#reach: number;
	#isDirty = false;

	/** A segment that is on disk already, with `size` bytes of it in order. */
	constructor(directory: string, segment: SegmentName, size: number) {
		this.#path = join(directory, segment.name);
		this.segment = segment;
		this.#size = size;
		this.#reach = size;
	}

	/** Leaves nothing behind when it fails. */
	static async create(directory: string, start: Mark): Promise<SegmentFile> {
		const file = new SegmentFile(directory, nameSegment(start), 0);
		file.#handle = await fs.open(file.#path, "wx", 0o600);
		try {
			await file.writeHeader();
		} catch (error) {
			await file.remove();
			throw error;
		}
		return file;
	}

	/** Where the last whole record ends. */
	get size(): number {
		return this.#size;
	}

	get isEmpty(): boolean {
		return this.#size <= HEADER_BYTES;
	}

	/** Whether something was written and not made durable yet. */
	get isDirty(): boolean {
		return this.#isDirty;
	}

	async writeHeader(): Promise<void> {
		const { error } = await this.write([encodeHeader(this.segment.start)]);
		if (error !== undefined) throw error;
		this.keep(HEADER_BYTES);
	}

	/** Writes after the last whole record, as far as it goes: a full disk takes a part before it fails. */
	async write(pieces: readonly Uint8Array[]): Promise<{ readonly written: number; readonly error?: unknown }> {
		let written = 0;
		let rest = pieces;
		try {
			this.#handle ??= await fs.open(this.#path, "r+");
			this.#reach = Number.POSITIVE_INFINITY;
			while (rest.length > 0) {
				const { bytesWritten } = await writeAt(this.#handle.fd, rest, this.#size + written);
				if (bytesWritten === 0) throw new Error(`journal ${this.#path}: nothing was written`);
				written += bytesWritten;
				rest = after(rest, bytesWritten);
			}
			this.#reach = this.#size + written;
			return { written };
		} catch (error) {
			return { written, error };
		}
	}

	/** Takes what was written, up to the end of a record, for part of the segment. */
	keep(bytes: number, isDurable = false): void {
		this.#size += bytes;
		if (!isDurable) this.#isDirty = true;
	}

	/** Cuts off what was written and not kept. */
	async trim(): Promise<void> {
		if (this.#reach === this.#size) return;
		this.#handle ??= await fs.open(this.#path, "r+");
		await this.#handle.truncate(this.#size);
		this.#reach = this.#size;
	}

	async sync(): Promise<void> {
		if (this.#handle === undefined) return;
		// Cleared first: what is written meanwhile may or may not be in this sync.
		this.#isDirty = false;
		try {
			await this.#handle.datasync();
		} catch (error) {
			this.#isDirty = true;
			throw error;
		}
	}

	/** Closes the file, once what is under way on it is done; it can be written again. */
	async release(): Promise<void> {
		const handle = this.#handle;
		this.#handle = undefined;
		await handle?.close();
	}

	/** Deletes the file. What of it was not durable yet need never reach the disk. */
	async remove(): Promise<void> {
		await fs.unlink(this.#path).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "ENOENT") throw error;
		});
		this.#isDirty = false;
		await this.release();
	}
}

/** What is left of the pieces after so many bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
	let skipped = 0;
	for (const [index, piece] of pieces.entries()) {
		if (skipped + piece.byteLength > bytes) return [piece.subarray(bytes - skipped), ...pieces.slice(index + 1)];
		skipped += piece.byteLength;
	}
	return [];
}
