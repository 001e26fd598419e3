/** One segment of a journal's writer: a file that grows by whole records and is synced from time to time. */

import { promises as fs, writev } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LogPosition } from "../core/log/event.ts";
import { encodeHeader, HEADER_BYTES, nameSegment, type SegmentName } from "./segment-format.ts";

/** Half the cost of FileHandle.writev, which matters in a flood of batches. */
const writeAt = promisify(writev);

export class SegmentFile {
	readonly segment: SegmentName;
	readonly #path: string;
	#handle: fs.FileHandle | undefined;
	#size: number;
	/** Possible size of the file. Bytes after `#size` do not belong to the segment. */
	#reach: number;
	#isDirty = false;

	/** An existing segment with `size` valid bytes. */
	constructor(directory: string, segment: SegmentName, size: number) {
		this.#path = join(directory, segment.name);
		this.segment = segment;
		this.#size = size;
		this.#reach = size;
	}

	/**
	 * Creates a segment, in the file of a dropped one if there is one: overwriting costs half of deleting a file and
	 * filling a new one. If it fails, nothing has changed.
	 */
	static async create(directory: string, start: LogPosition, dropped?: SegmentFile): Promise<SegmentFile> {
		const file = new SegmentFile(directory, nameSegment(start), 0);
		if (dropped === undefined || !(await file.#takeOver(dropped))) {
			file.#handle = await fs.open(file.#path, "wx", 0o600);
		}
		return file;
	}

	/** End of the last complete record; zero before the first. */
	get size(): number {
		return this.#size;
	}

	get isEmpty(): boolean {
		return this.#size <= HEADER_BYTES;
	}

	/** Whether something was written that is not durable yet. */
	get isDirty(): boolean {
		return this.#isDirty;
	}

	/** Writes records after the last complete one, as far as possible: a full disk may take a part before it fails. */
	async write(pieces: readonly Uint8Array[]): Promise<{ readonly written: number; readonly error?: unknown }> {
		let rest = this.#size === 0 ? [encodeHeader(this.segment.start), ...pieces] : pieces;
		let at = this.#size;
		const written = () => Math.max(0, at - Math.max(this.#size, HEADER_BYTES));
		const reach = this.#reach;
		this.#reach = Number.POSITIVE_INFINITY;
		try {
			this.#handle ??= await fs.open(this.#path, "r+");
			while (rest.length > 0) {
				const { bytesWritten } = await writeAt(this.#handle.fd, rest, at);
				if (bytesWritten === 0) throw new Error(`journal ${this.#path}: nothing was written`);
				at += bytesWritten;
				rest = after(rest, bytesWritten);
			}
			this.#reach = Math.max(reach, at);
			return { written: written() };
		} catch (error) {
			return { written: written(), error };
		}
	}

	/** Makes written bytes, up to the end of a record, part of the segment. */
	keep(bytes: number, isDurable = false): void {
		this.#size = Math.max(this.#size, HEADER_BYTES) + bytes;
		if (!isDurable) this.#isDirty = true;
	}

	/** Cuts off bytes that do not belong to the segment. Only a journal's last segment may have such bytes. */
	async trim(): Promise<void> {
		if (this.#reach <= this.#size) return;
		this.#handle ??= await fs.open(this.#path, "r+");
		await this.#handle.truncate(this.#size);
		this.#reach = this.#size;
	}

	async sync(): Promise<void> {
		if (this.#handle === undefined) return;
		// Cleared first: bytes written meanwhile may not be covered by this sync.
		this.#isDirty = false;
		try {
			await this.#handle.datasync();
		} catch (error) {
			this.#isDirty = true;
			throw error;
		}
	}

	/** Closes the file after pending operations on it. */
	async release(): Promise<void> {
		const handle = this.#handle;
		this.#handle = undefined;
		await handle?.close();
	}

	/** Deletes the file. Its unsynced bytes need never reach the disk. */
	async remove(): Promise<void> {
		await fs.unlink(this.#path).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "ENOENT") throw error;
		});
		this.#isDirty = false;
		await this.release();
	}

	/** Takes over the file of another segment; false if it is gone. */
	async #takeOver(other: SegmentFile): Promise<boolean> {
		try {
			other.#handle ??= await fs.open(other.#path, "r+");
			await fs.rename(other.#path, this.#path);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			await other.release();
			return false;
		}
		this.#handle = other.#handle;
		other.#handle = undefined;
		this.#reach = other.#reach;
		return true;
	}
}

/** The pieces without their first bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
	let skipped = 0;
	for (const [index, piece] of pieces.entries()) {
		if (skipped + piece.byteLength > bytes) return [piece.subarray(bytes - skipped), ...pieces.slice(index + 1)];
		skipped += piece.byteLength;
	}
	return [];
}
