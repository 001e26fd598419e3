/** Reads one segment from its beginning, over damage and beside its writer. */

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
/**
 * A search for the next event checks this many times the bytes that it looks through, then it finds nothing. Where
 * nothing is forged, twice is enough; but a program can fill its segments with what looks like long records.
 */
const CHECKED_TIMES = 16;

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
	/** How much there was when nothing was found in all the rest of it. */
	#exhaustedSize = -1;
	readonly #sizeOf: ((segment: SegmentName) => number) | undefined;

	private constructor(
		path: string,
		segment: SegmentName,
		handle: fs.FileHandle,
		sizeOf?: (segment: SegmentName) => number,
	) {
		this.#path = path;
		this.segment = segment;
		this.#handle = handle;
		this.#sizeOf = sizeOf;
		this.#next = segment.start;
	}

	/** Undefined if the file is gone. Without `sizeOf`, all of the file is read. */
	static async open(
		directory: string,
		segment: SegmentName,
		sizeOf?: (segment: SegmentName) => number,
	): Promise<SegmentScan | undefined> {
		const path = join(directory, segment.name);
		try {
			const handle = await fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
			return new SegmentScan(path, segment, handle, sizeOf);
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
	async passHeader(): Promise<boolean> {
		if (this.#hasPassedHeader) return true;
		const size = await this.#size();
		if (size < HEADER_BYTES) return false;
		await this.#load(HEADER_BYTES, size);
		const header = decodeHeader(this.#window);
		if (header !== undefined && header.version > VERSION) throw newerVersion(this.#path, header.version);
		// Another start is that of the segment whose file this was.
		this.#hasIntactHeader = header?.version === VERSION && header.start.seq === this.segment.start.seq;
		this.#hasPassedHeader = true;
		this.#at = HEADER_BYTES;
		return true;
	}

	/** Loads the next event; false if there is none now, though a writer may still add some. */
	async fill(): Promise<boolean> {
		if (!(await this.passHeader())) return false;
		const size = await this.#size();
		if (size <= this.position || size === this.#exhaustedSize) return false;

		await this.#load(READ_BYTES, size);
		const claimed = claimedBytes(this.#window, this.#at);
		if (claimed !== undefined && this.position + claimed <= size) await this.#load(claimed, size);
		this.#found = this.#decodeAt(this.#at);
		if (this.#found !== undefined) return true;

		await this.#load(size - this.position, size);
		// Damaged; or dropped, and its file another segment's, while we read.
		if ((await this.#size()) >= size && this.#search()) return true;
		this.#exhaustedSize = size;
		this.#forgetLoaded();
		return false;
	}

	async close(): Promise<void> {
		await this.#handle.close();
	}

	async #size(): Promise<number> {
		return this.#sizeOf?.(this.segment) ?? (await this.#handle.stat()).size;
	}

	/** Goes to the next event in what is loaded, wherever it begins. */
	#search(): boolean {
		let checkable = CHECKED_TIMES * this.#window.length;
		for (let at = this.#at; at < this.#window.length && checkable > 0; at++) {
			const decoded = decodeRecord(this.#window, at, this.segment.salt);
			if (decoded === "wrong") checkable -= claimedBytes(this.#window, at) ?? 0;
			if (typeof decoded === "string" || !this.#isForward(decoded)) continue;
			this.#found = decoded;
			this.#at = at;
			return true;
		}
		return false;
	}

	#decodeAt(at: number): Decoded | undefined {
		if (!this.#hasPassedHeader) return undefined;
		const decoded = decodeRecord(this.#window, at, this.segment.salt);
		return typeof decoded !== "string" && this.#isForward(decoded) ? decoded : undefined;
	}

	/** Events go forward only: older numbers are no more believed than a wrong checksum. */
	#isForward({ event }: Decoded): boolean {
		return event.seq >= this.#next.seq && event.offset >= this.#next.offset;
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

function newerVersion(path: string, found: number): SessionError {
	return new SessionError(
		"unsupported",
		`journal ${path} was written by a newer version (${found}, this one reads ${VERSION}); it is left as it is`,
		{ hint: "read it with the version of hawser that wrote it, or a later one" },
	);
}
