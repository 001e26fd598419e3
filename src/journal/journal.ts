/**
 * A log on disk: takes a session's events as fast as the disk allows, and keeps the newest ones.
 *
 * One write runs at a time, and consecutive writes are spaced: events appended meanwhile wait in the log's memory and
 * are written as one batch, so small events cost little. An event after a pause is written at once. `end` moves only
 * when a write is complete.
 */

import { promises as fs } from "node:fs";
import { dirname } from "node:path";
import { diskRetryDelay } from "../async/retry-delay.ts";
import type { Clock } from "../core/async/clock.ts";
import { invariant } from "../core/errors.ts";
import type { Archive, ArchiveSource } from "../core/log/archive.ts";
import { byteLength, type Event, type Fact, isFinal, type LogPosition } from "../core/log/event.ts";
import { DEFAULT_MEMORY_BYTES } from "../core/log/log.ts";
import { JournalReader, listSegments, readSegmentTail, type SegmentTail } from "./journal-reader.ts";
import { recover } from "./recovery.ts";
import { encodeRecords, HEADER_BYTES, positionAfter, RECORD_HEADER_BYTES } from "./segment-format.ts";
import { SegmentFile } from "./segment-writer.ts";

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024;
/**
 * A segment costs some system calls to begin and to end, and an open file. A reader scans half of one on average to
 * find its position.
 */
const DEFAULT_SEGMENT_BYTES = 8 * 1024 * 1024;
/** The limit consists of at least this many segments, because retention drops whole ones. */
const MIN_SEGMENTS = 8;
/**
 * After a write, the next one waits until this share of the log's memory is filled, or for the gather time. A write
 * costs about 0.1 ms of the event loop however small it is. The program fills the rest of the memory meanwhile.
 */
const BATCH_SHARE = 0.75;
const BATCH_BYTES = BATCH_SHARE * DEFAULT_MEMORY_BYTES;
const DEFAULT_GATHER_MS = 25;
/** A power cut loses at most this much. */
const SYNC_MS = 1_000;

export type JournalOptions = {
	readonly directory: string;
	/** Oldest segments are dropped beyond this. */
	readonly limitBytes?: number;
	/** Capped at an eighth of the limit. */
	readonly segmentBytes?: number;
	/** Durable within a second, or before `end` moves. */
	readonly fsync?: "interval" | "always";
	/** How long events may wait to be written together. Zero writes as soon as the last write is done. */
	readonly gatherMs?: number;
	/** The log's memory, if smaller than usual. A batch must be smaller, or the program would have to wait. */
	readonly memoryBytes?: number;
	readonly clock: Clock;
	/** Called once when writing begins to fail, and again only after it worked in between. */
	readonly onError?: (error: unknown) => void;
};

export class Journal implements Archive {
	readonly #directory: string;
	readonly #limitBytes: number;
	readonly #segmentBytes: number;
	readonly #isAlwaysSynced: boolean;
	readonly #gatherMs: number;
	readonly #gatherBytes: number;
	readonly #clock: Clock;
	readonly #onError: (error: unknown) => void;
	/** Oldest first. Events are added to the last one. */
	readonly #segments: SegmentFile[];
	#end: LogPosition;
	#source: ArchiveSource | undefined;
	#isHealthy = true;
	#isFull = false;
	#pumping: Promise<void> | undefined;
	/** Whether `wake` was called since the last check of the source. */
	#isAwake = false;
	#cancelGather: (() => void) | undefined;
	readonly #retryDelay = diskRetryDelay();
	#cancelRetry: (() => void) | undefined;
	#cancelSync: (() => void) | undefined;
	/** Directories whose new entries are not durable yet. */
	readonly #dirtyDirectories = new Set<string>();
	#closing: Promise<void> | undefined;
	#isClosing = false;

	private constructor(options: JournalOptions, segments: SegmentFile[], end: LogPosition) {
		this.#directory = options.directory;
		this.#limitBytes = options.limitBytes ?? DEFAULT_LIMIT_BYTES;
		this.#segmentBytes = Math.min(
			options.segmentBytes ?? DEFAULT_SEGMENT_BYTES,
			Math.floor(this.#limitBytes / MIN_SEGMENTS),
		);
		this.#isAlwaysSynced = options.fsync === "always";
		this.#gatherMs = options.gatherMs ?? DEFAULT_GATHER_MS;
		this.#gatherBytes = Math.min(BATCH_SHARE * (options.memoryBytes ?? DEFAULT_MEMORY_BYTES), BATCH_BYTES);
		this.#clock = options.clock;
		this.#onError = options.onError ?? (() => {});
		this.#segments = segments;
		this.#end = end;
	}

	/** Creates a journal, or opens one to continue it. Refuses a journal of a newer version and leaves it unchanged. */
	static async open(options: JournalOptions): Promise<Journal> {
		const { directory } = options;
		const created = await fs.mkdir(directory, { recursive: true, mode: 0o700 });
		const { segments, end } = await recover(directory);
		const journal = new Journal(options, segments, end);
		if (created !== undefined) journal.#dirtyDirectories.add(dirname(created)).add(dirname(directory));
		return journal;
	}

	get oldest(): LogPosition {
		return this.#segments[0]?.segment.start ?? this.#end;
	}

	get end(): LogPosition {
		return this.#end;
	}

	get isHealthy(): boolean {
		return this.#isHealthy;
	}

	get isFull(): boolean {
		return this.#isFull;
	}

	get #bytes(): number {
		return this.#segments.reduce((sum, file) => sum + file.size, 0);
	}

	start(source: ArchiveSource): void {
		invariant(this.#source === undefined, "a journal has one source");
		this.#source = source;
		this.wake();
	}

	wake(): void {
		this.#isAwake = true;
		const source = this.#source;
		if (source === undefined || this.#pumping !== undefined || this.#isClosing) return;
		if (this.#cancelRetry !== undefined) return;
		if (this.#cancelGather !== undefined && !this.#isFull && !this.#hasGathered(source)) return;
		this.#pumping = this.#pump(source);
	}

	reader(): JournalReader {
		return new JournalReader(this.#directory, {
			list: () => this.#segments.map((file) => file.segment),
			sizeOf: ({ name }) => this.#segments.find((file) => file.segment.name === name)?.size ?? 0,
		});
	}

	close(): Promise<void> {
		this.#isClosing = true;
		this.#closing ??= this.#shutDown();
		return this.#closing;
	}

	async #pump(source: ArchiveSource): Promise<void> {
		// Other events appended in this turn join the batch. Also, the source must not be called inside its own call.
		await undefined;
		this.#cancelGather?.();
		try {
			await this.#takeAll(source);
		} catch (error) {
			this.#fail(error);
			// If this fails too, the next event goes to that segment, and its number shows the gap.
			await this.#discardEmpty().catch(() => {});
		}
		this.#pumping = undefined;
		this.#gather();
	}

	/** Writes until nothing is left that is worth a write, or there is no room. */
	async #takeAll(source: ArchiveSource): Promise<void> {
		for (let isFirst = true; ; isFirst = false) {
			this.#isAwake = false;
			const events = source.peek(this.#end.seq, BATCH_BYTES);
			const [next] = events;
			if (next !== undefined && !isFirst && !this.#isWorthWriting(source)) {
				this.#isAwake = true;
				return;
			}
			const file = next && (await this.#fileFor(next, source));
			this.#setFull(next !== undefined && file === undefined);
			if (file === undefined) return;
			await this.#write(events, file);
			this.#succeed();
		}
	}

	#isWorthWriting(source: ArchiveSource): boolean {
		return this.#gatherMs === 0 || this.#isClosing || this.#hasGathered(source);
	}

	#hasGathered(source: ArchiveSource): boolean {
		return source.end.offset - this.#end.offset >= this.#gatherBytes;
	}

	/** Waits before the next write, then does what was requested meanwhile. */
	#gather(): void {
		const proceed = () => {
			this.#cancelGather = undefined;
			if (this.#isAwake) this.wake();
		};
		if (this.#gatherMs === 0) proceed();
		else if (!this.#isClosing) this.#cancelGather = this.#clock.after(this.#gatherMs, proceed);
	}

	async #write(events: readonly Event[], file: SegmentFile): Promise<void> {
		const { pieces, ends } = encodeRecords(
			events,
			file.segment.salt,
			this.#segmentBytes - Math.max(file.size, HEADER_BYTES),
		);
		const { written, error } = await file.write(pieces);
		const count = error === undefined ? ends.length : ends.filter((end) => end <= written).length;
		if (count > 0) {
			if (this.#isAlwaysSynced) await this.#sync([file]);
			file.keep(ends[count - 1] as number, this.#isAlwaysSynced);
			this.#end = positionAfter(events[count - 1] as Event);
			this.#syncSoon();
			this.#source?.archiveChanged();
		}
		if (error !== undefined) throw error;
	}

	/** The segment for this event: the last one, or a new one if it has no room. Undefined while the journal is full. */
	async #fileFor(event: Event, source: ArchiveSource): Promise<SegmentFile | undefined> {
		const last = this.#segments.at(-1);
		const bytes = RECORD_HEADER_BYTES + byteLength(event);
		if (last !== undefined && (last.isEmpty || last.size + bytes <= this.#segmentBytes)) return last;
		// Trim it before there is a newer one: only the last segment may have invalid bytes at its end.
		await last?.trim();
		return this.#begin(event, source);
	}

	/** Creates a segment. If there is no room, it replaces the oldest ones; undefined while a reader holds those. */
	async #begin(event: Event, source: ArchiveSource): Promise<SegmentFile | undefined> {
		const room = Math.max(this.#segmentBytes, HEADER_BYTES + RECORD_HEADER_BYTES + byteLength(event));
		const hasRoom = () => this.#bytes + room <= this.#limitBytes;
		for (;;) {
			const [oldest, second] = this.#segments;
			if (oldest === undefined || hasRoom()) return this.#create(event);
			const isHeld = (second?.segment.start ?? event).seq > source.heldFrom();
			// A full journal accepts nothing, which keeps its limit. At shutdown everything is written anyway.
			if (isHeld) return this.#isClosing ? this.#create(event) : undefined;
			// Move `oldest` before the file goes, so that a reader that misses it sees a drop on purpose.
			this.#segments.shift();
			source.archiveChanged();
			try {
				if (hasRoom()) return await this.#create(event, oldest);
				await oldest.remove();
			} catch (error) {
				this.#segments.unshift(oldest);
				throw error;
			}
		}
	}

	async #create({ seq, offset }: LogPosition, dropped?: SegmentFile): Promise<SegmentFile> {
		const file = await SegmentFile.create(this.#directory, { seq, offset }, dropped);
		this.#segments.push(file);
		this.#dirtyDirectories.add(this.#directory);
		return file;
	}

	/** After a failed write: removes an empty segment, because the next event may be a later one. */
	async #discardEmpty(): Promise<void> {
		const last = this.#segments.at(-1);
		if (last === undefined || !last.isEmpty) return;
		await last.remove();
		this.#segments.pop();
	}

	#setFull(isFull: boolean): void {
		if (this.#isFull === isFull) return;
		this.#isFull = isFull;
		this.#source?.archiveChanged();
	}

	#succeed(): void {
		this.#retryDelay.reset();
		this.#cancelRetry?.();
		this.#cancelRetry = undefined;
		if (this.#isHealthy) return;
		this.#isHealthy = true;
		this.#source?.archiveChanged();
	}

	#fail(error: unknown): void {
		if (!this.#isClosing && this.#cancelRetry === undefined) {
			this.#cancelRetry = this.#clock.after(this.#retryDelay.next(), () => {
				this.#cancelRetry = undefined;
				this.wake();
			});
		}
		if (!this.#isHealthy) return;
		this.#isHealthy = false;
		this.#onError(error);
		this.#source?.archiveChanged();
	}

	#syncSoon(): void {
		if (this.#isAlwaysSynced || this.#cancelSync !== undefined || this.#isClosing) return;
		this.#cancelSync = this.#clock.after(SYNC_MS, () => {
			this.#cancelSync = undefined;
			this.#sync(this.#segments.filter((file) => file.isDirty)).catch((error: unknown) => {
				this.#fail(error);
				this.#syncSoon();
			});
		});
	}

	async #sync(files: readonly SegmentFile[]): Promise<void> {
		for (const file of files) await file.sync();
		for (const directory of this.#dirtyDirectories) {
			// Clear the entry first, as with files: a segment may be created meanwhile.
			this.#dirtyDirectories.delete(directory);
			await syncDirectory(directory).catch((error: unknown) => {
				this.#dirtyDirectories.add(directory);
				throw error;
			});
		}
	}

	async #shutDown(): Promise<void> {
		this.#cancelRetry?.();
		this.#cancelSync?.();
		this.#cancelGather?.();
		await this.#pumping;
		// One more attempt even if the last one failed: there may be room again, and this is the last chance.
		if (this.#source !== undefined) await this.#pump(this.#source);
		try {
			await this.#segments.at(-1)?.trim();
			await this.#sync(this.#segments.filter((file) => file.isDirty));
		} catch (error) {
			this.#fail(error);
		}
		for (const file of this.#segments) await file.release();
	}
}

/** The end of a journal without a writer: its last event, and the last size and exit in its newest segment. */
type JournalEnding = { readonly last: Event } & Pick<SegmentTail, "resized" | "exited">;

/** The last event of a journal whose writer could not write it. */
type EndFact = Extract<Fact, { kind: "closed" | "lost" }>;

/**
 * Ends the journal of a session whose writer died. If it already has a last event, nothing is written. `seen` is the
 * end as others saw it, if the writer had sent more than it wrote. Reads only the newest segment.
 */
export async function appendEnd(
	directory: string,
	fact: EndFact,
	time: number,
	seen?: LogPosition,
): Promise<JournalEnding> {
	let failure: unknown;
	const journal = await Journal.open({
		directory,
		limitBytes: Number.POSITIVE_INFINITY,
		clock: { now: () => time, monotonic: () => 0, after: () => () => {} },
		onError: (error) => {
			failure = error;
		},
	});
	const segment = (await listSegments(directory)).at(-1);
	const tail = segment && (await readSegmentTail(directory, segment));
	const { last, resized, exited } = tail ?? { last: undefined, resized: undefined, exited: undefined };
	if (last !== undefined && isFinal(last)) {
		await journal.close();
		return { last, resized, exited };
	}
	const position = seen !== undefined && seen.seq > journal.end.seq ? seen : journal.end;
	const event: Event = { ...fact, seq: position.seq, offset: position.offset, time };
	journal.start({
		end: positionAfter(event),
		peek: (seq) => (seq <= event.seq ? [event] : []),
		heldFrom: () => event.seq,
		archiveChanged: () => {},
	});
	await journal.close();
	if (journal.end.seq <= event.seq) throw failure;
	return { last: event, resized, exited };
}

async function syncDirectory(directory: string): Promise<void> {
	const handle = await fs.open(directory, "r");
	try {
		await handle.sync();
	} finally {
		await handle.close();
	}
}
