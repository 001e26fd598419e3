/**
 * The ordered record of one session, bounded in memory and readable from any position.
 *
 * The log never pushes. A reader asks for what follows its place and waits when there is nothing,
 * so a slow reader costs no memory: it reads on from the archive, or finds a gap. Only two things
 * may keep events in memory past the bound, and with it pause the program: an archive that has not
 * taken them yet, and the hold of a lossless reader that has nowhere else to read them.
 */

import type { Archive, ArchiveReader, ArchiveSource } from "./archive.ts";
import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Followable, Hold } from "./cursor.ts";
import { invariant, SessionError } from "./errors.ts";
import { type Event, type Fact, isFinal, type Mark } from "./event.ts";
import { Pace } from "./pace.ts";
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
	readonly stallMs?: number | undefined;
	readonly archive?: Archive | undefined;
	/** For a log whose beginning is elsewhere, or gone: where it goes on, and whether it does at all. */
	readonly restored?: { readonly end: Mark; readonly isFinished: boolean };
	/** The log can't take more without losing something (true), or can again (false). */
	readonly onPressure?: (isFull: boolean) => void;
};

/** What a hold claims: every event from `seq` on. `movedAt` by the monotonic clock. */
type Claim = { seq: number; movedAt: number; error: SessionError | undefined };

export class Log implements ArchiveSource, Followable {
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
	readonly #claims = new Set<Claim>();
	readonly #paces = new Set<Pace>();
	#isFull = false;
	/** Since when the program has been waiting for readers, by the monotonic clock. */
	#heldSince: number | undefined;
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
		if (this.#heldSince !== undefined) this.#excuseWaiting();
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

	/** A way to what memory no longer has, if there is an archive. */
	reader(): ArchiveReader | undefined {
		return this.archive?.reader();
	}

	/** Makes every event from `seq` on stay readable, at the price of pausing the program, until released. */
	hold(seq: number): Hold {
		const claim: Claim = { seq, movedAt: this.#clock.monotonic(), error: undefined };
		this.#claims.add(claim);
		return {
			get error() {
				return claim.error;
			},
			advance: (to) => {
				if (to <= claim.seq) return;
				claim.seq = to;
				claim.movedAt = this.#clock.monotonic();
				this.#claimMoved();
			},
			release: () => {
				if (this.#claims.delete(claim)) this.#claimMoved();
			},
		};
	}

	/** Makes the program wait, for moments only, for a reader at the newest event; until the returned function is called. */
	pace(): { readonly reached: (offset: number) => void; readonly release: () => void } {
		const pace = new Pace(this.#clock, this.end.offset, () => this.#settle());
		this.#paces.add(pace);
		return {
			reached: (offset) => pace.reached(offset),
			release: () => {
				pace.release();
				if (this.#paces.delete(pace)) this.#settle();
			},
		};
	}

	heldFrom(): number {
		let seq = Number.POSITIVE_INFINITY;
		for (const claim of this.#claims) seq = Math.min(seq, claim.seq);
		return seq;
	}

	archiveChanged(): void {
		this.#settle();
		// Not `#change`: who waits for that stands at the end of the log, where no archive can help.
		this.#archiveChange.happen();
	}

	#claimMoved(): void {
		if (!this.#isFull) return;
		this.archive?.wake();
		this.#settle();
	}

	/** Drops what may be dropped and tells whether the program must wait. */
	#settle(): void {
		const archive = this.archive;
		const isArchiving = archive?.isHealthy === true;
		const keepFrom = isArchiving ? archive.end.seq : this.#claims.size > 0 ? this.heldFrom() : this.end.seq;
		while (this.#isOverBound() && this.memoryOldest.seq < keepFrom) this.#memory.dropOldest();

		this.#setHeld(isArchiving ? archive.isFull : this.#isOverBound());
		this.#setFull(this.#isOverBound() || archive?.isFull === true || this.#isOutrun());
	}

	#isOutrun(): boolean {
		let isOutrun = false;
		for (const pace of this.#paces) if (pace.mustWait(this.end.offset)) isOutrun = true;
		return isOutrun;
	}

	#isOverBound(): boolean {
		return this.#memory.exceeds(this.#memoryBytes, this.#memoryEvents);
	}

	#setFull(isFull: boolean): void {
		if (isFull === this.#isFull) return;
		this.#isFull = isFull;
		this.#onPressure(isFull);
	}

	#setHeld(isHeld: boolean): void {
		if (isHeld) {
			this.#heldSince ??= this.#clock.monotonic();
			this.#watchForStall();
		} else {
			this.#heldSince = undefined;
			this.#cancelStallCheck?.();
			this.#cancelStallCheck = undefined;
		}
	}

	/** A reader at the end could not move until now: what comes next is the first that it may stall at. */
	#excuseWaiting(): void {
		for (const claim of this.#claims) if (claim.seq === this.end.seq) claim.movedAt = this.#clock.monotonic();
	}

	#watchForStall(): void {
		if (this.#cancelStallCheck) return;
		const now = this.#clock.monotonic();
		let dueAt = now + this.#stallMs;
		for (const claim of this.#claims) dueAt = Math.min(dueAt, this.#stalledAt(claim));
		this.#cancelStallCheck = this.#clock.after(dueAt - now, () => {
			this.#cancelStallCheck = undefined;
			this.#endStalled();
		});
	}

	/** When a reader that does not move from now on will have stood still for the whole limit, with something to read. */
	#stalledAt(claim: Claim): number {
		if (this.#heldSince === undefined || claim.seq >= this.end.seq) return Number.POSITIVE_INFINITY;
		return Math.max(claim.movedAt, this.#heldSince) + this.#stallMs;
	}

	/** Ends all readers that stood still at once, not only the one that is furthest behind: else the program would wait for each in turn. */
	#endStalled(): void {
		const now = this.#clock.monotonic();
		for (const claim of this.#claims) {
			if (this.#stalledAt(claim) > now) continue;
			claim.error = new SessionError(
				"limit_exceeded",
				`the reader did not move for ${this.#stallMs} ms while the program waited`,
				{ hint: "read faster, follow live, or keep more" },
			);
			this.#claims.delete(claim);
		}
		this.archive?.wake();
		this.#settle();
		this.#change.happen();
	}
}
