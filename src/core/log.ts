/**
 * The ordered record of one session, bounded in memory and readable from any position.
 *
 * The log never pushes. A reader asks for what follows its place and waits when there is nothing,
 * so a slow reader costs no memory: it reads on from the archive, or finds a gap. Only two things
 * may keep events in memory past the bound, and with it pause the program: an archive that has not
 * taken them yet, and the hold of a lossless reader that has nowhere else to read them.
 */

import type { Archive, ArchiveSource } from "./archive.ts";
import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import { invariant, SessionError } from "./errors.ts";
import { type Event, type Fact, isFinal, type Mark } from "./event.ts";
import { EventRing } from "./ring.ts";

/** What the fronts' contracts ask to be kept for a client that comes back. */
export const DEFAULT_MEMORY_BYTES: number = 1024 * 1024;
/** Bounds the cost of a program that writes single bytes; Codex retains as many chunks. */
const DEFAULT_MEMORY_EVENTS = 50_000;
/** How long a lossless reader may stand still at the bound before it is ended instead of the program waiting on. */
const DEFAULT_STALL_MS = 10_000;

export type LogOptions = {
	readonly clock: Clock;
	readonly memoryBytes?: number;
	readonly memoryEvents?: number;
	readonly stallMs?: number;
	readonly archive?: Archive | undefined;
	/** For a log whose beginning is elsewhere, or gone: where it goes on, and whether it does at all. */
	readonly restored?: { readonly end: Mark; readonly isFinished: boolean };
	/** The log can't take more without losing something (true), or can again (false). */
	readonly onPressure?: (isFull: boolean) => void;
};

/** A lossless reader's claim on every event from `seq` on; `movedAt` by the monotonic clock. */
export type Hold = { seq: number; movedAt: number; error: SessionError | undefined };

export class Log implements ArchiveSource {
	readonly archive: Archive | undefined;
	readonly #clock: Clock;
	readonly #memoryBytes: number;
	readonly #memoryEvents: number;
	readonly #stallMs: number;
	readonly #onPressure: (isFull: boolean) => void;

	readonly #memory: EventRing;
	#isFinished: boolean;

	readonly #change = new Change();
	readonly #archiveChange = new Change();
	readonly #holds = new Set<Hold>();
	#fullSince: number | undefined;
	#cancelStallCheck: (() => void) | undefined;

	constructor(options: LogOptions) {
		this.#clock = options.clock;
		this.#memoryBytes = options.memoryBytes ?? DEFAULT_MEMORY_BYTES;
		this.#memoryEvents = options.memoryEvents ?? DEFAULT_MEMORY_EVENTS;
		this.#stallMs = options.stallMs ?? DEFAULT_STALL_MS;
		this.#onPressure = options.onPressure ?? (() => {});
		this.#memory = new EventRing(options.restored?.end);
		this.#isFinished = options.restored?.isFinished ?? false;
		this.archive = options.archive;
		this.archive?.start(this);
	}

	/** Where the next event will stand. */
	get end(): Mark {
		return this.#memory.end;
	}

	/** No event will follow. */
	get isFinished(): boolean {
		return this.#isFinished;
	}

	/** The oldest event in memory, or `end` when there is none. */
	get memoryOldest(): Mark {
		return this.#memory.oldest;
	}

	/** The oldest event that can be read. */
	get oldest(): Mark {
		const archived = this.archive?.oldest ?? this.end;
		const memory = this.memoryOldest;
		return archived.seq < memory.seq ? archived : memory;
	}

	append(fact: Fact): Event {
		invariant(!this.#isFinished, `${fact.kind} after the log's end`);
		// Not spread: with an offset that outgrew 31 bits, that is ten times as dear in Node 20.
		const event: Event = Object.assign({}, fact, this.end, { time: this.#clock.now() });
		if (this.#fullSince !== undefined) this.#excuseWaiting();
		this.#memory.push(event);
		this.#isFinished = isFinal(event);
		this.archive?.wake();
		this.#settle();
		this.#change.happen();
		return event;
	}

	/** Resolves when the log has grown or a hold has failed, or when the signal aborts. */
	changed(signal?: AbortSignal): Promise<void> {
		return this.#change.next(signal);
	}

	/** Resolves when the archive has taken or dropped events, or can or can't any more. */
	archived(): Promise<void> {
		return this.#archiveChange.next();
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		return this.#memory.peek(seq, maxBytes);
	}

	/** The number of the first event in memory that holds the output byte at `offset`, or stands at or after it. */
	seqAt(offset: number): number {
		return this.#memory.seqAt(offset);
	}

	/** Makes every event from `seq` on stay readable, at the price of pausing the program, until released. */
	hold(seq: number): Hold {
		const hold: Hold = { seq, movedAt: this.#clock.monotonic(), error: undefined };
		this.#holds.add(hold);
		return hold;
	}

	/** The reader needs nothing before `seq` any more. */
	advance(hold: Hold, seq: number): void {
		if (seq <= hold.seq) return;
		hold.seq = seq;
		hold.movedAt = this.#clock.monotonic();
		this.#holdMoved();
	}

	release(hold: Hold): void {
		if (this.#holds.delete(hold)) this.#holdMoved();
	}

	heldFrom(): number {
		let seq = Number.POSITIVE_INFINITY;
		for (const hold of this.#holds) seq = Math.min(seq, hold.seq);
		return seq;
	}

	archiveChanged(): void {
		this.#settle();
		// Not `#change`: who waits for that stands at the end of the log, where no archive can help.
		this.#archiveChange.happen();
	}

	#holdMoved(): void {
		if (this.#fullSince === undefined) return;
		this.archive?.wake();
		this.#settle();
	}

	/** Drops what may be dropped and tells whether the program must wait. */
	#settle(): void {
		const archive = this.archive;
		const isArchiving = archive?.isHealthy === true;
		const keepFrom = isArchiving ? archive.end.seq : this.#holds.size > 0 ? this.heldFrom() : this.end.seq;
		while (this.#isOverBound() && this.memoryOldest.seq < keepFrom) this.#memory.dropOldest();

		const isHeld = isArchiving ? archive.isFull : this.#isOverBound();
		this.#setFull(this.#isOverBound() || archive?.isFull === true);
		if (isHeld && this.#fullSince !== undefined) this.#watchForStall();
		else this.#stopStallCheck();
	}

	#isOverBound(): boolean {
		return this.#memory.exceeds(this.#memoryBytes, this.#memoryEvents);
	}

	#setFull(isFull: boolean): void {
		if (isFull === (this.#fullSince !== undefined)) return;
		this.#fullSince = isFull ? this.#clock.monotonic() : undefined;
		this.#onPressure(isFull);
	}

	/** A reader at the end could not move until now: what comes next is the first that it may stall at. */
	#excuseWaiting(): void {
		for (const hold of this.#holds) if (hold.seq === this.end.seq) hold.movedAt = this.#clock.monotonic();
	}

	#watchForStall(): void {
		if (this.#cancelStallCheck) return;
		const now = this.#clock.monotonic();
		let dueAt = now + this.#stallMs;
		for (const hold of this.#holds) dueAt = Math.min(dueAt, this.#stalledAt(hold));
		this.#cancelStallCheck = this.#clock.after(dueAt - now, () => {
			this.#cancelStallCheck = undefined;
			this.#endStalled();
		});
	}

	#stopStallCheck(): void {
		this.#cancelStallCheck?.();
		this.#cancelStallCheck = undefined;
	}

	/** When a reader that does not move from now on will have stood still for the whole limit, with the log at its bound and something to read. */
	#stalledAt(hold: Hold): number {
		if (this.#fullSince === undefined || hold.seq >= this.end.seq) return Number.POSITIVE_INFINITY;
		return Math.max(hold.movedAt, this.#fullSince) + this.#stallMs;
	}

	/** Ends all readers that stood still at once, not only the one that is furthest behind: else the program would wait for each in turn. */
	#endStalled(): void {
		const now = this.#clock.monotonic();
		for (const hold of this.#holds) {
			if (this.#stalledAt(hold) > now) continue;
			hold.error = new SessionError(
				"limit_exceeded",
				`the reader did not move for ${this.#stallMs} ms while the program waited`,
				{ hint: "read faster, follow live, or keep more" },
			);
			this.#holds.delete(hold);
		}
		this.archive?.wake();
		this.#settle();
		this.#change.happen();
	}
}
