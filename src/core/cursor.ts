/**
 * A reader's place in a log: everything from its start on, then what happens, as one sequence.
 *
 * There is no switch from history to live. Each turn asks where the next event is now: in memory,
 * in the archive, or nowhere any more, which is a gap; so nothing can slip in between.
 */

import type { ArchiveReader } from "./archive.ts";
import { invariant, type SessionError } from "./errors.ts";
import { byteLength, type Event, type Gap, type Item, type Mark, type Start } from "./event.ts";
import type { FollowOptions } from "./session.ts";

/** How much a cursor takes from the log or the archive at a time, and so what it costs at most. */
const BATCH_BYTES = 256 * 1024;
/** How far a live reader may fall behind before it is moved forward. */
export const LIVE_WINDOW_BYTES: number = 512 * 1024;
/** How much of the newest output a live reader still gets when it is moved forward. */
const LIVE_KEEP_BYTES = 64 * 1024;

/** What a cursor needs of a log, wherever its events are. */
export interface Followable {
	/** Where the next event will stand. */
	readonly end: Mark;
	/** No event will follow. */
	readonly isFinished: boolean;
	/** The oldest event that can be read. */
	readonly oldest: Mark;
	/** The oldest event in memory, or `end` when there is none. */
	readonly memoryOldest: Mark;
	/** Events in memory from `seq` on, at least one if there is any, at most about `maxBytes`. */
	peek(seq: number, maxBytes: number): readonly Event[];
	/** The number of the first event in memory that holds the output byte at `offset`, or stands at or after it. */
	seqAt(offset: number): number;
	/** Resolves when the log has grown or a hold has failed, or when the signal aborts. */
	changed(signal?: AbortSignal): Promise<void>;
	/** A way to what memory no longer has, if there is one. When the signal aborts, a read that waits ends. */
	reader(signal: AbortSignal): ArchiveReader | undefined;
	/** Makes every event from `seq` on stay readable, at the price of pausing the program, until released. */
	hold(seq: number): Hold;
}

/** A lossless reader's claim on every event from some place on. */
export interface Hold {
	/** Why the log has ended the claim by itself, once it has. */
	readonly error: SessionError | undefined;
	/** The reader needs nothing before `seq` any more. */
	advance(seq: number): void;
	release(): void;
}

type CursorOptions = FollowOptions & {
	/** Called once, when it reads no more. */
	readonly onClose?: () => void;
	/** Hears how far the caller came back for more. */
	readonly onReached?: (offset: number) => void;
};

/** Where the reader stands: before an event, or before a byte whose event is not known yet. */
type Place = { readonly seq: number } | { readonly offset: number };

/**
 * Reads a log from a place that is fixed, and held, at the time of the call. The caller must iterate
 * to the end, break off, or abort the signal; else a lossless cursor holds the log until it is ended.
 */
export function follow(log: Followable, start: Start, options: CursorOptions = {}): Cursor {
	return new Cursor(log, start, options);
}

/** The iterator itself. It is asked for one item at a time; `return` may be called at any time, and ends a wait. */
export class Cursor implements AsyncIterableIterator<Item, void, void> {
	readonly #log: Followable;
	readonly #options: CursorOptions;
	#isLive: boolean;
	#hold: Hold | undefined;
	#place: Place;
	/** The byte that comes next, as soon as it is known. */
	#offset: number | undefined;
	/** How far behind a live reader may be: it may always read the past that it asked for. */
	#allowance = Number.POSITIVE_INFINITY;
	#wasInMemory = false;
	/** Events that were read, and how many of them were given out. */
	#batch: readonly Event[] = [];
	#given = 0;
	#reader: ArchiveReader | undefined;
	/** The search for the next item, while it is under way. */
	#search: Promise<Item | undefined> | undefined;
	/** Aborted when it is over, which ends a wait. */
	readonly #over = new AbortController();
	#closing: Promise<void> | undefined;
	readonly #abort = () => this.#close().catch(() => {});

	constructor(log: Followable, start: Start, options: CursorOptions) {
		this.#log = log;
		this.#options = options;
		this.#isLive = options.flow === "live";
		this.#place = resolve(start, log.end);
		if ("offset" in this.#place) this.#offset = this.#place.offset;
		else if (this.#place.seq === log.end.seq) this.#offset = log.end.offset;
		else if (this.#place.seq === 1) this.#offset = 0;
		this.#claim();
		// Also for a cursor that nobody has begun to read, or comes back to.
		options.signal?.addEventListener("abort", this.#abort, { once: true });
		if (options.signal?.aborted) void this.#abort();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	/** Whether it is moved forward when it falls behind. While it is, a lossless cursor holds nothing. */
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
		invariant(!this.#search, "a cursor is asked for one item at a time");
		// The caller came back for more, so what it was given is no longer needed.
		if ("seq" in this.#place) this.#hold?.advance(this.#place.seq);
		if (this.#offset !== undefined) this.#options.onReached?.(this.#offset);
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
		// The archive's reader may be in use until the search has seen that it is over.
		await this.#search?.catch(() => {});
		await this.#reader?.close();
	}

	/** What comes next of the events that were read. */
	#take(): Item | undefined {
		while (this.#given < this.#batch.length) {
			const event = this.#batch[this.#given] as Event;
			const gap = this.#gapBefore(event);
			if (gap) {
				this.#place = { seq: event.seq };
				this.#offset = event.offset;
				return gap;
			}
			const rest = this.#cut(event);
			this.#given++;
			this.#place = { seq: event.seq + 1 };
			this.#offset = event.offset + byteLength(event);
			if (rest) return rest;
		}
		// Nobody needs them here any more, however long the wait for others is.
		this.#batch = [];
		this.#given = 0;
		return undefined;
	}

	/** Reads until there is an item to give, or none will ever be. */
	async #find(): Promise<Item | undefined> {
		const log = this.#log;
		while (!this.#over.signal.aborted) {
			if (this.#hold?.error) throw this.#hold.error;
			const skipped = this.#isLive ? this.#catchUp() : undefined;
			if (skipped) return skipped;

			const seq = this.#seqInMemory();
			this.#wasInMemory ||= seq !== undefined;
			let events = seq === undefined ? await this.#archived() : [];
			// While the archive was read, what it lacked may have become readable in memory and nowhere else.
			if (events.length === 0) events = log.peek(seq ?? log.memoryOldest.seq, BATCH_BYTES);
			if (events.length === 0) {
				if (log.isFinished) return undefined;
				// Nothing is awaited between finding nothing and waiting, so no append is missed.
				await log.changed(this.#over.signal);
				continue;
			}
			this.#batch = events;
			const item = this.#take();
			if (item) return item;
		}
		return undefined;
	}

	/** The events at the cursor's place that only the archive has, if it does. */
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
		// An event without bytes may stand at the same offset just before memory begins: only a smaller one is certain.
		return isAll || oldest.offset < place.offset ? this.#log.seqAt(place.offset) : undefined;
	}

	#gapBefore(event: Event): Gap | undefined {
		const from = this.#offset;
		const isMissing = "seq" in this.#place ? event.seq > this.#place.seq : event.offset > this.#place.offset;
		if (!isMissing) return undefined;
		// What lies before everything that is kept was dropped on purpose; a hole in the middle is the disk's.
		const isRetention = event.seq <= this.#log.oldest.seq;
		return {
			kind: "gap",
			reason: isRetention ? "retention" : "journal",
			from: from ?? event.offset,
			to: event.offset,
			nextSeq: event.seq,
		};
	}

	/** What of an event lies after the place: all of it, but for the first one after a start by offset. */
	#cut(event: Event): Event | undefined {
		if (!("offset" in this.#place) || event.kind !== "output") return event;
		const skip = this.#place.offset - event.offset;
		if (skip <= 0) return event;
		if (skip >= event.bytes.byteLength) return undefined;
		return { ...event, offset: this.#place.offset, bytes: event.bytes.subarray(skip) };
	}

	/** Moves a live reader that fell too far behind to the newest output. */
	#catchUp(): Gap | undefined {
		const from = this.#offset;
		if (from === undefined) return undefined;
		const behind = this.#log.end.offset - from;
		if (this.#allowance === Number.POSITIVE_INFINITY) this.#allowance = behind + LIVE_WINDOW_BYTES;
		if (behind <= LIVE_WINDOW_BYTES) this.#allowance = LIVE_WINDOW_BYTES;
		// Once it was at the newest output, what memory no longer has is further behind than it may be, too.
		const isOutrun = this.#wasInMemory && this.#seqInMemory() === undefined;
		if (behind <= this.#allowance && !isOutrun) return undefined;
		const [event] = this.#log.peek(this.#log.seqAt(this.#log.end.offset - LIVE_KEEP_BYTES), 1);
		if (!event || event.offset <= from) return undefined;
		this.#place = { seq: event.seq };
		this.#offset = event.offset;
		this.#allowance = LIVE_WINDOW_BYTES;
		return { kind: "gap", reason: "live", from, to: event.offset, nextSeq: event.seq };
	}

	#seqToHold(): number {
		if ("seq" in this.#place) return this.#place.seq;
		// Before the first read only memory can tell; older places are held as a whole.
		return this.#seqInMemory() ?? this.#log.oldest.seq;
	}
}

function resolve(start: Start, end: Mark): Place {
	if (start === "end") return { seq: end.seq };
	if ("seq" in start) return { seq: Math.min(Math.max(1, start.seq), end.seq) };
	return { offset: Math.min(Math.max(0, start.offset), end.offset) };
}
