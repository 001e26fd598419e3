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
	/** How far the file may go; what lies past `#size` is no part of the segment. */
	#reach: number;
	#isDirty = false;

	/** A segment that is on disk already, with `size` bytes of it in order. */
	constructor(directory: string, segment: SegmentName, size: number) {
		this.#path = join(directory, segment.name);
		this.segment = segment;
		this.#size = size;
		this.#reach = size;
	}

	/**
	 * A new segment, in the file of one that is not needed any more if there is such: to overwrite a file costs half of
	 * what it costs to delete one and to fill another. Leaves everything as it was when it fails.
	 */
	static async create(directory: string, start: Mark, dropped?: SegmentFile): Promise<SegmentFile> {
		const file = new SegmentFile(directory, nameSegment(start), 0);
		if (dropped === undefined || !(await file.#takeOver(dropped))) {
			file.#handle = await fs.open(file.#path, "wx", 0o600);
		}
		return file;
	}

	/** Where the last whole record ends; zero before the first. */
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

	/** Writes records after the last whole one, as far as it goes: a full disk takes a part before it fails. */
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

	/** Takes what was written, up to the end of a record, for part of the segment. */
	keep(bytes: number, isDurable = false): void {
		this.#size = Math.max(this.#size, HEADER_BYTES) + bytes;
		if (!isDurable) this.#isDirty = true;
	}

	/** Cuts off what was not kept, and what was in the file before: only a journal's last segment may have such a rest. */
	async trim(): Promise<void> {
		if (this.#reach <= this.#size) return;
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

	/** Closes the file, once what is under way on it is done. */
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

	/** False if the other's file is gone. */
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

/** What is left of the pieces after so many bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
	let skipped = 0;
	for (const [index, piece] of pieces.entries()) {
		if (skipped + piece.byteLength > bytes) return [piece.subarray(bytes - skipped), ...pieces.slice(index + 1)];
		skipped += piece.byteLength;
	}
	return [];
}
