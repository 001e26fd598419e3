/**
 * A cursor: reads a log from a start position on, past events first and new ones as they happen.
 *
 * There is no switch from history to live. Each step finds the next event in memory or in the archive. If it is in
 * neither, the cursor reports a gap. So nothing is lost in between.
 */

import { invariant, type SessionError } from "../errors.ts";
import type { ArchiveReader } from "./archive.ts";
import {
	byteLength,
	type Event,
	type Gap,
	type Item,
	LOG_START,
	type LogPosition,
	type Place,
	type Start,
} from "./event.ts";

/** Bytes read per batch. Also the most memory one cursor uses. */
const BATCH_BYTES = 256 * 1024;
/**
 * A live reader further behind than this skips ahead.
 * @limit how far a live cursor may fall behind | it skips ahead, over a gap
 */
export const LIVE_WINDOW_BYTES: number = 512 * 1024;
/**
 * Bytes of the newest output that a live reader gets after it skipped ahead.
 * @limit output that a live cursor still gets when it skips ahead | older output is a gap
 */
const LIVE_KEEP_BYTES = 64 * 1024;

/** The part of a log that a cursor needs. The events may be in another process. */
export interface ReadableLog {
	/** Position of the next event. */
	readonly end: LogPosition;
	/** No event will follow. */
	readonly isFinished: boolean;
	/** The oldest event that can be read. */
	readonly oldest: LogPosition;
	/** The oldest event in memory, or `end` when there is none. */
	readonly memoryOldest: LogPosition;
	/** Events in memory from `seq` on, at least one if there is any, at most about `maxBytes`. */
	peek(seq: number, maxBytes: number): readonly Event[];
	/** Number of the first event in memory that holds the output byte at `offset`, or is at or after it. */
	seqAt(offset: number): number;
	/** Resolves when the log has grown, when a hold has failed, or when the signal aborts. */
	changed(signal?: AbortSignal): Promise<void>;
	/** A reader for events that are no longer in memory, if there is an archive. An abort ends a read that waits. */
	reader(signal: AbortSignal): ArchiveReader | undefined;
	/** Keeps all events from `seq` on readable until it is released, if necessary by pausing the program. */
	hold(seq: number): Hold;
}

/** A lossless reader's claim on all events from a position on. */
export interface Hold {
	/** Set when the log has ended the hold. */
	readonly error: SessionError | undefined;
	/** The reader no longer needs events before `seq`. */
	advance(seq: number): void;
	release(): void;
}

type CursorOptions = FollowOptions & {
	/** Called once, when the cursor ends. */
	readonly onClose?: () => void;
	/** Called with the offset that the caller has consumed, each time it asks for more. */
	readonly onReached?: (offset: number) => void;
};

/**
 * Reads a log from a position that is resolved, and held, during the call. The caller must iterate to the end, break,
 * or abort the signal. Otherwise a lossless cursor holds the log until the log ends it.
 */
export function follow(log: ReadableLog, start: Start, options: CursorOptions = {}): Cursor {
	return new Cursor(log, start, options);
}

/** Serves one `next` at a time. `return` may be called at any time and ends a wait. */
export class Cursor implements AsyncIterableIterator<Item, void, void> {
	readonly #log: ReadableLog;
	readonly #options: CursorOptions;
	#isLive: boolean;
	#hold: Hold | undefined;
	#place: Place;
	/** How far behind a live reader may be. It may always read the past that it asked for. */
	#allowance = Number.POSITIVE_INFINITY;
	#wasInMemory = false;
	/** Events read, and how many of them were yielded. */
	#batch: readonly Event[] = [];
	#given = 0;
	#reader: ArchiveReader | undefined;
	/** The pending search for the next item. */
	#search: Promise<Item | undefined> | undefined;
	/** Aborted when the cursor ends, which ends a wait. */
	readonly #over = new AbortController();
	#closing: Promise<void> | undefined;
	readonly #abort = () => this.#close().catch(() => {});

	constructor(log: ReadableLog, start: Start, options: CursorOptions) {
		this.#log = log;
		this.#options = options;
		this.#isLive = options.flow === "live";
		this.#place = resolve(start, log.end);
		this.#claim();
		// The abort must also release a cursor that is never iterated.
		options.signal?.addEventListener("abort", this.#abort, { once: true });
		if (options.signal?.aborted) void this.#abort();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	/** Whether it skips ahead when it falls behind. While it does, a lossless cursor holds nothing. */
	get isLive(): boolean {
		return this.#isLive;
	}

	set isLive(isLive: boolean) {
		if (isLive === this.#isLive || this.#over.signal.aborted) return;
		this.#isLive = isLive;
		this.#allowance = LIVE_WINDOW_BYTES;
		this.#hold?.release();
		this.#hold = undefined;
		this.#claim();
	}

	async next(): Promise<IteratorResult<Item, void>> {
		invariant(!this.#search, "a cursor serves one next() at a time");
		// The caller asks for more, so it no longer needs the item before.
		if ("seq" in this.#place) this.#hold?.advance(this.#place.seq);
		this.#options.onReached?.(this.#place.offset);
		try {
			let item = this.#take();
			if (!item) {
				this.#search = this.#find();
				item = await this.#search;
			}
			if (item && !this.#over.signal.aborted) return { done: false, value: item };
		} catch (error) {
			await this.#close();
			throw error;
		} finally {
			this.#search = undefined;
		}
		return this.return();
	}

	async return(): Promise<IteratorReturnResult<void>> {
		await this.#close();
		return { done: true, value: undefined };
	}

	async throw(error: unknown): Promise<IteratorResult<Item, void>> {
		await this.#close();
		throw error;
	}

	#close(): Promise<void> {
		this.#closing ??= this.#finish();
		return this.#closing;
	}

	async #finish(): Promise<void> {
		const { signal, onClose } = this.#options;
		signal?.removeEventListener("abort", this.#abort);
		this.#over.abort();
		this.#hold?.release();
		this.#batch = [];
		onClose?.();
		// The search may still use the archive's reader.
		await this.#search?.catch(() => {});
		await this.#reader?.close();
	}

	/** The next item of the batch. */
	#take(): Item | undefined {
		while (this.#given < this.#batch.length) {
			const event = this.#batch[this.#given] as Event;
			const gap = this.#gapBefore(event);
			if (gap) {
				this.#place = { seq: event.seq, offset: event.offset };
				return gap;
			}
			const rest = this.#cut(event);
			this.#given++;
			this.#place = { seq: event.seq + 1, offset: event.offset + byteLength(event) };
			if (rest) return rest;
		}
		// Free the batch before a wait that may be long.
		this.#batch = [];
		this.#given = 0;
		return undefined;
	}

	/** Reads until there is an item, or none can follow. */
	async #find(): Promise<Item | undefined> {
		const log = this.#log;
		while (!this.#over.signal.aborted) {
			if (this.#hold?.error) throw this.#hold.error;
			const skipped = this.#isLive ? this.#catchUp() : undefined;
			if (skipped) return skipped;

			const seq = this.#seqInMemory();
			this.#wasInMemory ||= seq !== undefined;
			let events = seq === undefined ? await this.#archived() : [];
			// While the archive was read, events that it lacked may have arrived in memory.
			if (events.length === 0) events = log.peek(seq ?? log.memoryOldest.seq, BATCH_BYTES);
			if (events.length === 0) {
				if (log.isFinished) return undefined;
				// No await lies between this check and the wait, so no append is missed.
				await log.changed(this.#over.signal);
				continue;
			}
			this.#batch = events;
			const item = this.#take();
			if (item) return item;
		}
		return undefined;
	}

	/** Events at the cursor's position that only the archive has. */
	async #archived(): Promise<readonly Event[]> {
		this.#reader ??= this.#log.reader(this.#over.signal);
		return this.#reader ? this.#reader.read(this.#place, BATCH_BYTES) : [];
	}

	#claim(): void {
		if (this.#options.flow === "lossless" && !this.#isLive) this.#hold = this.#log.hold(this.#seqToHold());
	}

	/** The next event's number if memory has it, if it has not happened yet, or if nothing older is left. */
	#seqInMemory(): number | undefined {
		const place = this.#place;
		const oldest = this.#log.memoryOldest;
		const isAll = oldest.seq === this.#log.oldest.seq;
		if ("seq" in place) {
			if (place.seq >= oldest.seq) return place.seq;
			return isAll ? oldest.seq : undefined;
		}
		// An event without bytes may have the same offset just before memory begins: only a smaller offset is certain.
		return isAll || oldest.offset < place.offset ? this.#log.seqAt(place.offset) : undefined;
	}

	#gapBefore(event: Event): Gap | undefined {
		const place = this.#place;
		// Compare offsets too: no byte may be left out without a gap, whatever the numbers say.
		const isMissing = event.offset > place.offset || ("seq" in place && event.seq > place.seq);
		if (!isMissing) return undefined;
		// Events before the oldest were dropped to stay within limits. A hole in the middle is damage on disk.
		const isRetention = event.seq <= this.#log.oldest.seq;
		return {
			kind: "gap",
			reason: isRetention ? "retention" : "journal",
			// A position from a caller may be after the event. Then only events without bytes are missing.
			from: Math.min(place.offset, event.offset),
			to: event.offset,
			nextSeq: event.seq,
		};
	}

	/** The part of an event after the position: all of it, except for the first event after a start by offset. */
	#cut(event: Event): Event | undefined {
		if ("seq" in this.#place || event.kind !== "output") return event;
		const skip = this.#place.offset - event.offset;
		if (skip <= 0) return event;
		if (skip >= event.bytes.byteLength) return undefined;
		return { ...event, offset: this.#place.offset, bytes: event.bytes.subarray(skip) };
	}

	/** Moves a live reader that is too far behind to the newest output. */
	#catchUp(): Gap | undefined {
		const from = this.#place.offset;
		const behind = this.#log.end.offset - from;
		if (this.#allowance === Number.POSITIVE_INFINITY) this.#allowance = behind + LIVE_WINDOW_BYTES;
		if (behind <= LIVE_WINDOW_BYTES) this.#allowance = LIVE_WINDOW_BYTES;
		// A reader that was at the newest output is also too far behind when memory no longer has its position.
		const isOutrun = this.#wasInMemory && this.#seqInMemory() === undefined;
		if (behind <= this.#allowance && !isOutrun) return undefined;
		const [event] = this.#log.peek(this.#log.seqAt(this.#log.end.offset - LIVE_KEEP_BYTES), 1);
		if (!event || event.offset <= from) return undefined;
		this.#place = { seq: event.seq, offset: event.offset };
		this.#allowance = LIVE_WINDOW_BYTES;
		return { kind: "gap", reason: "live", from, to: event.offset, nextSeq: event.seq };
	}

	#seqToHold(): number {
		if ("seq" in this.#place) return this.#place.seq;
		// Before the first read only memory can tell the number. For an older position, hold everything.
		return this.#seqInMemory() ?? this.#log.oldest.seq;
	}
}

function resolve(start: Start, end: LogPosition): Place {
	if (start === "end") return { seq: end.seq, offset: end.offset };
	const offset = Math.min(Math.max(0, start.offset), end.offset);
	if (!("seq" in start)) return { offset };
	if (start.seq <= 1) return LOG_START;
	// Bytes before the end may be missing even if no event is, because the events with those bytes were never written.
	return { seq: Math.min(start.seq, end.seq), offset };
}

export type FollowOptions = {
	/** Ends the iteration, without an error, at the next item. */
	readonly signal?: AbortSignal;
	/** A lossless cursor holds the log and can pause the program. A live one skips ahead over a gap instead. */
	readonly flow?: "lossless" | "live";
	/** For a cursor shared by many readers: the program waits for it for short times, instead of running far ahead. */
	readonly isPaced?: boolean;
	/** An internal reader, not an attachment. It is not counted. */
	readonly isOwn?: boolean;
	/**
	 * The reader stops at an end that the log has already reached. It fails with `node_unavailable` when the keeper does
	 * not respond. Other readers wait for the keeper and continue from their position.
	 */
	readonly isBounded?: boolean;
};
