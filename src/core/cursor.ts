/**
 * A reader's place in a log: everything from its start on, then what happens, as one sequence.
 *
 * There is no switch from history to live. Each turn asks where the next event is now: in memory,
 * in the archive, or nowhere any more, which is a gap; so nothing can slip in between.
 */

import type { ArchiveReader } from "./archive.ts";
import { byteLength, type Event, type Gap, type Item, type Mark, type Start } from "./event.ts";
import type { Hold, Log } from "./log.ts";
import type { FollowOptions } from "./session.ts";

/** How much a cursor takes from the log or the archive at a time, and so what it costs at most. */
const BATCH_BYTES = 256 * 1024;
/** How far a live reader may fall behind before it is moved forward. */
export const LIVE_WINDOW_BYTES: number = 512 * 1024;
/** How much of the newest output a live reader still gets when it is moved forward. */
const LIVE_KEEP_BYTES = 64 * 1024;

/** Where the reader stands: before an event, or before a byte whose event is not known yet. */
type Place = { readonly seq: number } | { readonly offset: number };

/**
 * Reads a log from a place that is fixed, and held, at the time of the call. The caller must iterate
 * to the end, break off, or abort the signal; else a lossless cursor holds the log until it is ended.
 */
export function follow(log: Log, start: Start, options: FollowOptions = {}): AsyncGenerator<Item, void, void> {
	// A generator's body only begins with the first request, which would be too late to know where "end" is.
	return run(new Cursor(log, start, options));
}

async function* run(cursor: Cursor): AsyncGenerator<Item, void, void> {
	try {
		yield* cursor.items();
	} finally {
		await cursor.close();
	}
}

class Cursor {
	readonly #log: Log;
	readonly #signal: AbortSignal | undefined;
	readonly #hold: Hold | undefined;
	#place: Place;
	/** The byte that comes next, as soon as it is known. */
	#offset: number | undefined;
	/** How far behind a live reader may be: it may always read the past that it asked for. */
	#allowance = Number.POSITIVE_INFINITY;
	readonly #isLive: boolean;
	#reader: ArchiveReader | undefined;

	constructor(log: Log, start: Start, options: FollowOptions) {
		this.#log = log;
		this.#signal = options.signal;
		this.#isLive = options.flow === "live";
		this.#place = resolve(start, log.end);
		if ("offset" in this.#place) this.#offset = this.#place.offset;
		else if (this.#place.seq === log.end.seq) this.#offset = log.end.offset;
		else if (this.#place.seq === 1) this.#offset = 0;
		if (options.flow === "lossless") this.#hold = log.hold(this.#seqToHold());
	}

	async *items(): AsyncGenerator<Item, void, void> {
		while (!this.#signal?.aborted) {
			if (this.#hold?.error) throw this.#hold.error;
			if (this.#isLive) {
				const skipped = this.#catchUp();
				if (skipped) yield skipped;
			}
			const events = await this.#next();
			if (events.length === 0) {
				if (this.#log.isFinished) return;
				// Nothing is awaited between finding nothing and waiting, so no append is missed.
				await this.#log.changed(this.#signal);
				continue;
			}
			for (const event of events) {
				const gap = this.#gapBefore(event);
				if (gap) yield gap;
				const rest = this.#cut(event);
				this.#place = { seq: event.seq + 1 };
				this.#offset = event.offset + byteLength(event);
				if (rest) yield rest;
				// The caller came back for more, so this event is no longer needed.
				if (this.#hold) this.#log.advance(this.#hold, event.seq + 1);
				if (this.#signal?.aborted) return;
			}
		}
	}

	async close(): Promise<void> {
		if (this.#hold) this.#log.release(this.#hold);
		await this.#reader?.close();
	}

	/** The events at the cursor's place, from wherever they are now; empty when there are none yet. */
	async #next(): Promise<readonly Event[]> {
		const log = this.#log;
		const inMemory = this.#seqInMemory();
		if (inMemory !== undefined) return log.peek(inMemory, BATCH_BYTES);

		const archive = log.archive;
		if (archive) {
			this.#reader ??= archive.reader();
			const events = await this.#reader.read(this.#place, BATCH_BYTES);
			// While the archive was read, what it lacked may have become readable in memory and nowhere else.
			if (events.length > 0) return events;
		}
		return log.peek(log.memoryOldest.seq, BATCH_BYTES);
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
		if (behind <= this.#allowance) return undefined;
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
