/** Reads a journal's directory: the events in order, and where they begin and end. */

import { promises as fs } from "node:fs";
import { join } from "node:path";
import type { Archive, ArchiveReader } from "../core/archive.ts";
import { byteLength, type Event, isFinal, type Mark } from "../core/event.ts";
import { parseSegmentName, RECORD_HEADER_BYTES, type SegmentName } from "./segment.ts";
import { SegmentScan } from "./segment-scan.ts";

/** Opens the journal of a session whose writer is gone. Changes nothing on disk; refuses a journal of a newer version. */
export async function openForReading(directory: string): Promise<StoredJournal> {
	const segments = await listSegments(directory);
	await checkVersions(directory, segments);
	const newest = segments.at(-1);
	const tail = newest && (await examine(directory, newest));
	const end = tail?.end ?? { seq: 1, offset: 0 };
	const isFinished = tail?.last !== undefined && isFinal(tail.last);
	return new StoredJournal(directory, { oldest: segments[0]?.start ?? end, end, isFinished });
}

/** A journal that nobody writes any more; an archive that takes no events. */
class StoredJournal implements Archive {
	readonly oldest: Mark;
	readonly end: Mark;
	/** Whether it has the session's last event. */
	readonly isFinished: boolean;
	readonly isHealthy = true;
	readonly isFull = false;
	readonly #directory: string;

	constructor(directory: string, found: { readonly oldest: Mark; readonly end: Mark; readonly isFinished: boolean }) {
		this.#directory = directory;
		this.oldest = found.oldest;
		this.end = found.end;
		this.isFinished = found.isFinished;
	}

	start(): void {}

	wake(): void {}

	reader(): ArchiveReader {
		return new JournalReader(this.#directory);
	}

	async close(): Promise<void> {}
}

/** What only the writer of a journal knows. */
export interface LiveSegments {
	/** Oldest first. */
	list(): readonly SegmentName[];
	/** How much of a segment's file is in order; nothing once it is dropped, whatever its file is used for then. */
	sizeOf(segment: SegmentName): number;
}

/** A place in a journal. Keeps its file open, so that reading on costs no search. */
export class JournalReader implements ArchiveReader {
	readonly #directory: string;
	readonly #live: LiveSegments | undefined;
	#scan: SegmentScan | undefined;
	/** The number after the last event returned: asked for that, there is nothing to search. */
	#expectedSeq = -1;

	/** Beside a writer, `live` tells of its segments; without, they are what is on disk. */
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

	/** Opens the segment where the place must be, unless it is open and not read past the place. */
	async #seek(from: { readonly seq: number } | { readonly offset: number }): Promise<void> {
		const segments = await this.#list();
		// Events without bytes may stand at a segment's first offset and yet in the segment before, hence `<`.
		const isReached = ({ start }: SegmentName) => ("seq" in from ? start.seq <= from.seq : start.offset < from.offset);
		const index = Math.max(0, segments.findLastIndex(isReached));
		const next = this.#scan?.next;
		if (segments[index]?.name === this.#scan?.segment.name && next !== undefined) {
			if ("seq" in from ? next.seq <= from.seq : next.offset < from.offset) return;
		}
		await this.close();
		this.#scan = await this.#openFirst(segments.slice(index));
	}

	/** Goes on to the next segment; false if there is nothing more now. */
	async #advance(): Promise<boolean> {
		const scan = this.#scan;
		const segments = await this.#list();
		const later = segments.filter(({ name }) => scan === undefined || name > scan.segment.name);
		if (later.length === 0) return false;
		// The writer may have finished the old segment between our last look at it and the listing.
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

	/** The first one that is still there. */
	async #openFirst(segments: readonly SegmentName[]): Promise<SegmentScan | undefined> {
		for (const segment of segments) {
			const scan = await SegmentScan.open(this.#directory, segment, this.#live?.sizeOf);
			if (scan !== undefined) return scan;
		}
		return undefined;
	}
}

/** A journal's segments, oldest first; none if there is no such directory. */
export async function listSegments(directory: string): Promise<SegmentName[]> {
	const names = await fs.readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	return names.sort().flatMap((name) => parseSegmentName(name) ?? []);
}

/** Throws if any segment was written by a newer version, before anything is done with the others. */
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

/** How a segment ends. */
export type Tail = {
	/** After its last intact event; where it begins if it has none. */
	readonly end: Mark;
	readonly last: Event | undefined;
	/** The last of their kind in it. */
	readonly resized: Extract<Event, { kind: "resized" }> | undefined;
	readonly exited: Extract<Event, { kind: "exited" }> | undefined;
	/** What follows `position` up to `size` is no event. */
	readonly position: number;
	readonly size: number;
	readonly hasIntactHeader: boolean;
};

/** Reads a whole segment to see how it ends. */
export async function examine(directory: string, segment: SegmentName): Promise<Tail> {
	let last: Event | undefined;
	let resized: Tail["resized"];
	let exited: Tail["exited"];
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
	see: (event: Event) => void,
): Promise<SegmentScan | undefined> {
	const scan = await SegmentScan.open(directory, segment);
	try {
		while (scan !== undefined) {
			const event = scan.take();
			if (event !== undefined) see(event);
			else if (!(await scan.fill())) break;
		}
	} finally {
		await scan?.close();
	}
	return scan;
}

function isBefore(event: Event, from: { readonly seq: number } | { readonly offset: number }): boolean {
	if ("seq" in from) return event.seq < from.seq;
	// An event that carries nothing stands at its offset, one that carries bytes reaches beyond it; as in core/log.ts.
	return event.kind === "output" ? event.offset + byteLength(event) <= from.offset : event.offset < from.offset;
}
