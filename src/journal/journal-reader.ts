/** Reads the directory of a journal: its events in order, its beginning and its end. */

import { promises as fs } from "node:fs";
import { join } from "node:path";
import type { Archive, ArchiveReader } from "../core/log/archive.ts";
import { byteLength, type Event, isFinal, type LogPosition } from "../core/log/event.ts";
import { parseSegmentName, RECORD_HEADER_BYTES, type SegmentName } from "./segment-format.ts";
import { SegmentScan } from "./segment-reader.ts";

/**
 * Opens the journal of a session whose writer is gone. Changes nothing on disk. Refuses a journal of a newer version.
 */
export async function openForReading(directory: string): Promise<StoredJournal> {
	const segments = await listSegments(directory);
	await checkVersions(directory, segments);
	const newest = segments.at(-1);
	const tail = newest && (await readSegmentTail(directory, newest));
	const end = tail?.end ?? { seq: 1, offset: 0 };
	const isFinished = tail?.last !== undefined && isFinal(tail.last);
	return new StoredJournal(directory, { oldest: segments[0]?.start ?? end, end, isFinished });
}

/** An archive without a writer. */
class StoredJournal implements Archive {
	readonly oldest: LogPosition;
	readonly end: LogPosition;
	/** Whether it contains the session's last event. */
	readonly isFinished: boolean;
	readonly isHealthy = true;
	readonly isFull = false;
	readonly #directory: string;

	constructor(
		directory: string,
		found: { readonly oldest: LogPosition; readonly end: LogPosition; readonly isFinished: boolean },
	) {
		this.#directory = directory;
		this.oldest = found.oldest;
		this.end = found.end;
		this.isFinished = found.isFinished;
	}

	start(): void {}

	wake(): void {}

	reader(): JournalReader {
		return new JournalReader(this.#directory);
	}

	async close(): Promise<void> {}
}

/** Facts that only a journal's writer knows. */
interface LiveSegments {
	/** Oldest first. */
	list(): readonly SegmentName[];
	/** The valid size of a segment's file. Zero once the segment is dropped, whatever the file is reused for. */
	sizeOf(segment: SegmentName): number;
}

/** A position in a journal. Keeps its file open, so that continuing needs no search. */
export class JournalReader implements ArchiveReader {
	readonly #directory: string;
	readonly #live: LiveSegments | undefined;
	#scan: SegmentScan | undefined;
	/** The number after the last returned event. A read from there needs no search. */
	#expectedSeq = -1;

	/** Beside a writer, `live` has the segments. Without one, they are listed from disk. */
	constructor(directory: string, live?: LiveSegments) {
		this.#directory = directory;
		this.#live = live;
	}

	async read(
		from: { readonly seq: number } | { readonly offset: number },
		maxBytes: number,
	): Promise<readonly Event[]> {
		if (!("seq" in from && from.seq === this.#expectedSeq)) await this.#seek(from);
		const events: Event[] = [];
		let bytes = 0;
		while (bytes < maxBytes || events.length === 0) {
			const event = this.#scan?.take();
			if (event === undefined) {
				if (await this.#scan?.fill()) continue;
				if (events.length > 0 || !(await this.#advance())) break;
				continue;
			}
			if (events.length === 0 && isBefore(event, from)) continue;
			events.push(event);
			bytes += RECORD_HEADER_BYTES + byteLength(event);
		}
		const last = events.at(-1);
		if (last !== undefined) this.#expectedSeq = last.seq + 1;
		return events;
	}

	async close(): Promise<void> {
		const scan = this.#scan;
		this.#scan = undefined;
		this.#expectedSeq = -1;
		await scan?.close();
	}

	/** Opens the segment that contains the position, unless it is open and not past it. */
	async #seek(from: { readonly seq: number } | { readonly offset: number }): Promise<void> {
		const segments = await this.#list();
		// Events without bytes at a segment's first offset may be in the segment before, hence `<`.
		const isReached = ({ start }: SegmentName) => ("seq" in from ? start.seq <= from.seq : start.offset < from.offset);
		const index = Math.max(0, segments.findLastIndex(isReached));
		const next = this.#scan?.next;
		if (segments[index]?.name === this.#scan?.segment.name && next !== undefined) {
			if ("seq" in from ? next.seq <= from.seq : next.offset < from.offset) return;
		}
		await this.close();
		this.#scan = await this.#openFirst(segments.slice(index));
	}

	/** Continues with the next segment; false if there is none now. */
	async #advance(): Promise<boolean> {
		const scan = this.#scan;
		const segments = await this.#list();
		const later = segments.filter(({ name }) => scan === undefined || name > scan.segment.name);
		if (later.length === 0) return false;
		// The writer may have finished the old segment between the last read and the listing.
		if (await scan?.fill()) return true;
		const opened = await this.#openFirst(later);
		if (opened === undefined) return false;
		this.#scan = opened;
		await scan?.close();
		return true;
	}

	async #list(): Promise<readonly SegmentName[]> {
		return this.#live?.list() ?? listSegments(this.#directory);
	}

	/** Opens the first segment that still exists. */
	async #openFirst(segments: readonly SegmentName[]): Promise<SegmentScan | undefined> {
		for (const segment of segments) {
			const scan = await SegmentScan.open(this.#directory, segment, this.#live?.sizeOf);
			if (scan !== undefined) return scan;
		}
		return undefined;
	}
}

/** A journal's segments, oldest first. Empty if the directory does not exist. */
export async function listSegments(directory: string): Promise<SegmentName[]> {
	const names = await fs.readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	return names.sort().flatMap((name) => parseSegmentName(name) ?? []);
}

/** Throws if any segment was written by a newer version. Called before anything else is done. */
export async function checkVersions(directory: string, segments: readonly SegmentName[]): Promise<void> {
	for (const segment of segments) {
		const scan = await SegmentScan.open(directory, segment);
		try {
			await scan?.passHeader();
		} finally {
			await scan?.close();
		}
	}
}

/** The end of a segment. */
export type SegmentTail = {
	/** The position after its last intact event, or its start if it has none. */
	readonly end: LogPosition;
	readonly last: Event | undefined;
	/** The last events of these kinds. */
	readonly resized: Extract<Event, { kind: "resized" }> | undefined;
	readonly exited: Extract<Event, { kind: "exited" }> | undefined;
	/** Bytes from `position` up to `size` are not a valid event. */
	readonly position: number;
	readonly size: number;
	readonly hasIntactHeader: boolean;
};

/** Reads a whole segment to find its end. */
export async function readSegmentTail(directory: string, segment: SegmentName): Promise<SegmentTail> {
	let last: Event | undefined;
	let resized: SegmentTail["resized"];
	let exited: SegmentTail["exited"];
	const scan = await eachEvent(directory, segment, (event) => {
		last = event;
		if (event.kind === "resized") resized = event;
		else if (event.kind === "exited") exited = event;
	});
	return {
		end: scan?.next ?? segment.start,
		last,
		resized,
		exited,
		position: scan?.position ?? 0,
		size: scan === undefined ? 0 : (await fs.stat(join(directory, segment.name))).size,
		hasIntactHeader: scan?.hasIntactHeader ?? false,
	};
}

async function eachEvent(
	directory: string,
	segment: SegmentName,
	onEvent: (event: Event) => void,
): Promise<SegmentScan | undefined> {
	const scan = await SegmentScan.open(directory, segment);
	try {
		while (scan !== undefined) {
			const event = scan.take();
			if (event !== undefined) onEvent(event);
			else if (!(await scan.fill())) break;
		}
	} finally {
		await scan?.close();
	}
	return scan;
}

function isBefore(event: Event, from: { readonly seq: number } | { readonly offset: number }): boolean {
	if ("seq" in from) return event.seq < from.seq;
	// An event without bytes is at its offset; one with bytes extends past it. As in core/log/event-ring.ts.
	return event.kind === "output" ? event.offset + byteLength(event) <= from.offset : event.offset < from.offset;
}
