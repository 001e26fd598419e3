/** Reads one segment from its beginning, past damage and beside its writer. */

import { constants, promises as fs } from "node:fs";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Event, LogPosition } from "../core/log/event.ts";
import {
	claimedBytes,
	type Decoded,
	decodeHeader,
	decodeRecord,
	HEADER_BYTES,
	positionAfter,
	type SegmentName,
	VERSION,
} from "./segment-format.ts";

const READ_BYTES = 256 * 1024;
/**
 * A search for the next event gives up after it has checksummed this many times the bytes that it searches. Twice is
 * enough normally, but a program can fill its segments with what looks like long records.
 */
const CHECKED_TIMES = 16;
/**
 * Bytes that a search checks before it yields to the event loop, a few milliseconds. Trying one position costs
 * PLACE_COST_BYTES.
 */
const TURN_BYTES = 4 * 1024 * 1024;
const PLACE_COST_BYTES = 256;

export class SegmentScan {
	readonly segment: SegmentName;
	readonly #path: string;
	readonly #handle: fs.FileHandle;
	/** The loaded part of the file, its position in the file, and how much of it was consumed. */
	#window: Buffer = Buffer.alloc(0);
	#base = 0;
	#at = 0;
	#hasPassedHeader = false;
	#hasIntactHeader = false;
	#next: LogPosition;
	#found: Decoded | undefined;
	/** Size of the file when the rest contained no event. */
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

	/** Undefined if the file is gone. Without `sizeOf` the whole file is read. */
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

	/** The position of the next event if none is missing. */
	get next(): LogPosition {
		return this.#next;
	}

	/** Bytes of the file that were passed: header, events taken, and damage before them. */
	get position(): number {
		return this.#base + this.#at;
	}

	/** Known after the first `take` or `fill`. */
	get hasIntactHeader(): boolean {
		return this.#hasIntactHeader;
	}

	/** The next event, if it is loaded. */
	take(): Event | undefined {
		const found = this.#found ?? this.#decodeAt(this.#at);
		this.#found = undefined;
		if (found === undefined) return undefined;
		this.#at += found.size;
		this.#next = positionAfter(found.event);
		return found.event;
	}

	/**
	 * Skips the header; false if it is incomplete so far. Throws if a newer version wrote it. A damaged header does no
	 * harm: its length is fixed, and the file name has its content.
	 */
	async passHeader(): Promise<boolean> {
		if (this.#hasPassedHeader) return true;
		const size = await this.#size();
		if (size < HEADER_BYTES) return false;
		await this.#load(HEADER_BYTES, size);
		const header = decodeHeader(this.#window);
		if (header !== undefined && header.version > VERSION) throw newerVersion(this.#path, header.version);
		// Another start belongs to the segment that used this file before.
		this.#hasIntactHeader = header?.version === VERSION && header.start.seq === this.segment.start.seq;
		this.#hasPassedHeader = true;
		this.#at = HEADER_BYTES;
		return true;
	}

	/** Loads the next event; false if there is none now, though the writer may still add some. */
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
		// It is damaged, or was dropped and its file reused while we read.
		if ((await this.#size()) >= size && (await this.#search())) return true;
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

	/** Searches for the next event in the loaded bytes. Yields to the event loop. */
	async #search(): Promise<boolean> {
		let checkable = CHECKED_TIMES * this.#window.length;
		let turn = TURN_BYTES;
		for (let at = this.#at; at < this.#window.length && checkable > 0; at++) {
			const decoded = decodeRecord(this.#window, at, this.segment.salt);
			const checked = decoded === "wrong" ? (claimedBytes(this.#window, at) ?? 0) : 0;
			checkable -= checked;
			turn -= checked + PLACE_COST_BYTES;
			if (turn < 0) {
				turn = TURN_BYTES;
				await new Promise<void>((resolve) => setImmediate(resolve));
			}
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

	/** Numbers only grow. An event with older numbers is treated like one with a wrong checksum. */
	#isForward({ event }: Decoded): boolean {
		return event.seq >= this.#next.seq && event.offset >= this.#next.offset;
	}

	/** Loads at least this many bytes, or as many as the file has. */
	async #load(bytes: number, size: number): Promise<void> {
		const wanted = Math.min(bytes, size - this.position);
		const loaded = this.#window.length - this.#at;
		if (loaded >= wanted) return;
		// Events share the window's memory, so each load gets a new buffer.
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
		`journal ${path} was written by a newer version (${found}; this one reads ${VERSION}); it was not changed`,
		{ hint: "read it with the version of hawser that wrote it, or a later one" },
	);
}
