/** Reads one segment from its beginning, over damage and beside a writer that may be in another process. */

import { constants, promises as fs } from "node:fs";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Event, Mark } from "../core/event.ts";
import {
	claimedBytes,
	type Decoded,
	decodeHeader,
	decodeRecord,
	HEADER_BYTES,
	markAfter,
	type SegmentName,
	VERSION,
} from "./segment.ts";

const READ_BYTES = 256 * 1024;

export class SegmentScan {
	readonly segment: SegmentName;
	readonly #path: string;
	readonly #handle: fs.FileHandle;
	/** What is loaded of the file, where in the file that begins, and how much of it is done with. */
	#window: Buffer = Buffer.alloc(0);
	#base = 0;
	#at = 0;
	#hasPassedHeader = false;
	#hasIntactHeader = false;
	#next: Mark;
	#found: Decoded | undefined;
	/** The file's size and time when nothing was found in all the rest of it. */
	#exhausted: { readonly size: number; readonly mtimeMs: number } | undefined;

	constructor(path: string, segment: SegmentName, handle: fs.FileHandle) {
		this.#path = path;
		this.segment = segment;
		this.#handle = handle;
		this.#next = segment.start;
	}

	/** Undefined if the file is gone. */
	static async open(directory: string, segment: SegmentName): Promise<SegmentScan | undefined> {
		const path = join(directory, segment.name);
		try {
			return new SegmentScan(path, segment, await fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
			throw error;
		}
	}

	/** Where the next event stands if none is missing. */
	get next(): Mark {
		return this.#next;
	}

	/** How much of the file has been passed: its header, the events taken, and damage before them. */
	get position(): number {
		return this.#base + this.#at;
	}

	/** Known once an event was taken, or found missing. */
	get hasIntactHeader(): boolean {
		return this.#hasIntactHeader;
	}

	/** The next event, if it is loaded. */
	take(): Event | undefined {
		const found = this.#found ?? this.#decodeAt(this.#at);
		this.#found = undefined;
		if (found === undefined) return undefined;
		this.#at += found.size;
		this.#next = markAfter(found.event);
		return found.event;
	}

	/**
	 * Goes past the header; false if it is not all there yet. Throws if a newer version wrote it. A damaged
	 * one does no harm: its length is known, and the file's name says the rest.
	 */
	async passHeader(size?: number): Promise<boolean> {
		if (this.#hasPassedHeader) return true;
		const available = size ?? (await this.#handle.stat()).size;
		if (available < HEADER_BYTES) return false;
		await this.#load(HEADER_BYTES, available);
		const header = decodeHeader(this.#window);
		if (header !== undefined && header.version > VERSION) throw newerVersion(this.#path, header.version);
		this.#hasIntactHeader = header?.version === VERSION;
		this.#hasPassedHeader = true;
		this.#at = HEADER_BYTES;
		return true;
	}

	/** Loads the next event; false if there is none now, though a writer may still add some. */
	async fill(): Promise<boolean> {
		const { size, mtimeMs } = await this.#handle.stat();
		if (size === this.#exhausted?.size && mtimeMs === this.#exhausted.mtimeMs) return false;
		if (!(await this.passHeader(size))) return false;
		if (size <= this.position) return false;

		await this.#load(READ_BYTES, size);
		const claimed = claimedBytes(this.#window, this.#at);
		if (claimed !== undefined && this.position + claimed <= size) await this.#load(claimed, size);
		this.#found = this.#decodeAt(this.#at);
		if (this.#found !== undefined) return true;

		// Damaged, or not all written yet. What was loaded earlier may be stale: a writer whose disk was
		// full cuts off what it wrote in part, and goes on with other events in the same place.
		this.#forgetLoaded();
		await this.#load(size - this.position, size);
		for (let at = this.#at; at < this.#window.length; at++) {
			this.#found = this.#decodeAt(at);
			if (this.#found === undefined) continue;
			this.#at = at;
			return true;
		}
		this.#exhausted = { size, mtimeMs };
		this.#forgetLoaded();
		return false;
	}

	async close(): Promise<void> {
		await this.#handle.close();
	}

	/** Events go forward only: older numbers are no more believed than a wrong checksum. */
	#decodeAt(at: number): Decoded | undefined {
		if (!this.#hasPassedHeader) return undefined;
		const decoded = decodeRecord(this.#window, at, this.segment.salt);
		if (typeof decoded === "string") return undefined;
		const { seq, offset } = decoded.event;
		return seq >= this.#next.seq && offset >= this.#next.offset ? decoded : undefined;
	}

	/** Makes at least so many bytes available, or as many as the file has. */
	async #load(bytes: number, size: number): Promise<void> {
		const wanted = Math.min(bytes, size - this.position);
		const loaded = this.#window.length - this.#at;
		if (loaded >= wanted) return;
		// Events share the window's memory, so every load gets its own.
		const window = Buffer.allocUnsafe(wanted);
		this.#window.copy(window, 0, this.#at);
		let length = loaded;
		while (length < wanted) {
			const { bytesRead } = await this.#handle.read(window, length, wanted - length, this.position + length);
			if (bytesRead === 0) break;
			length += bytesRead;
		}
		this.#base = this.position;
		this.#at = 0;
		this.#window = window.subarray(0, length);
	}

	#forgetLoaded(): void {
		this.#base = this.position;
		this.#at = 0;
		this.#window = Buffer.alloc(0);
	}
}

export function newerVersion(path: string, found: number): SessionError {
	return new SessionError(
		"unsupported",
		`journal ${path} was written by a newer version (${found}, this one reads ${VERSION}); it is left as it is`,
		{ hint: "read it with the version of hawser that wrote it, or a later one" },
	);
}
