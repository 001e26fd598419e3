/**
 * The event log of one session, bounded in memory and readable from any position.
 *
 * The log never pushes. A reader asks for the events after its position and waits if there are none, so a slow reader
 * costs no memory: it reads from the archive, or gets a gap. Only two things keep events in memory past the limit, and
 * so pause the program: an archive that has not taken them yet, and the hold of a lossless reader that has no other
 * source.
 */

import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";
import { invariant, SessionError } from "../errors.ts";
import type { Archive, ArchiveReader, ArchiveSource } from "./archive.ts";
import type { Hold, ReadableLog } from "./cursor.ts";
import { type Event, type Fact, isFinal, type LogPosition } from "./event.ts";
import { EventRing } from "./event-ring.ts";
import { Pace } from "./reader-pace.ts";

/** The amount that the contracts of the fronts require for clients that reconnect. */
export const DEFAULT_MEMORY_BYTES: number = 1024 * 1024;
/**
 * Bounds the cost of a program that writes single bytes. Codex keeps as many chunks.
 * @limit events of one session in memory | the oldest are dropped once the journal has them
 */
const DEFAULT_MEMORY_EVENTS = 50_000;
/**
 * A lossless reader that makes the program wait is ended after this time without progress.
 * @limit a lossless cursor that keeps a program waiting without progress | it and all others that stood still end with
 * `limit_exceeded`, and the program continues; so ends a hold for the first reader
 */
const DEFAULT_STALL_MS = 10_000;

export type LogOptions = {
	readonly clock: Clock;
	readonly memoryBytes?: number;
	readonly memoryEvents?: number;
	readonly stallMs?: number | undefined;
	readonly archive?: Archive | undefined;
	/** For a log that continues an earlier one: its end, and whether it is finished. */
	readonly restored?: { readonly end: LogPosition; readonly isFinished: boolean };
	/** Called with true when the log can't take more without losing events, and with false when it can again. */
	readonly onPressure?: (isFull: boolean) => void;
};

/** A hold on every event from `seq` on. `movedAt` is monotonic time. */
type Claim = { seq: number; movedAt: number; error: SessionError | undefined };

export class Log implements ArchiveSource, ReadableLog {
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
	/** Monotonic time since which the program has waited for readers. */
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

	/** Position of the next event. */
	get end(): LogPosition {
		return this.#memory.end;
	}

	/** No event will follow. */
	get isFinished(): boolean {
		return this.#isFinished;
	}

	/** The oldest event in memory, or `end` when there is none. */
	get memoryOldest(): LogPosition {
		return this.#memory.oldest;
	}

	/** The oldest event that can be read. */
	get oldest(): LogPosition {
		const archived = this.archive?.oldest ?? this.end;
		const memory = this.memoryOldest;
		return archived.seq < memory.seq ? archived : memory;
	}

	append(fact: Fact): Event {
		invariant(!this.#isFinished, `${fact.kind} after the end of the log`);
		// A spread is ten times slower here in Node 20 once the offset exceeds 31 bits.
		const event: Event = Object.assign({}, fact, this.end, { time: this.#clock.now() });
		if (this.#heldSince !== undefined) this.#excuseWaiting();
		this.#memory.push(event);
		this.#isFinished = isFinal(event);
		this.archive?.wake();
		this.#settle();
		this.#change.happen();
		return event;
	}

	/** Resolves when the log has grown, when a hold has failed, or when the signal aborts. */
	changed(signal?: AbortSignal): Promise<void> {
		return this.#change.wait(signal);
	}

	/** Resolves when the archive has taken or dropped events, or its health has changed. */
	archived(): Promise<void> {
		return this.#archiveChange.wait();
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		return this.#memory.peek(seq, maxBytes);
	}

	/** Number of the first event in memory that holds the output byte at `offset`, or is at or after it. */
	seqAt(offset: number): number {
		return this.#memory.seqAt(offset);
	}

	/** A reader for events that are no longer in memory, if there is an archive. */
	reader(): ArchiveReader | undefined {
		return this.archive?.reader();
	}

	/** Keeps all events from `seq` on readable until it is released, if necessary by pausing the program. */
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

	/** Makes the program wait for short times for a reader at the newest event, until it is released. */
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
		// Not `#change`: its waiters are at the end of the log, where the archive has nothing for them.
		this.#archiveChange.happen();
	}

	#claimMoved(): void {
		if (!this.#isFull) return;
		this.archive?.wake();
		this.#settle();
	}

	/** Drops what may be dropped and updates whether the program must wait. */
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

	/** Restarts the stall time of readers at the end: they had nothing to read until now. */
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

	/** When a reader that does not advance from now on will have stalled for the whole limit. */
	#stalledAt(claim: Claim): number {
		if (this.#heldSince === undefined || claim.seq >= this.end.seq) return Number.POSITIVE_INFINITY;
		return Math.max(claim.movedAt, this.#heldSince) + this.#stallMs;
	}

	/** Ends all stalled readers at once. Otherwise the program would wait for each in turn. */
	#endStalled(): void {
		const now = this.#clock.monotonic();
		for (const claim of this.#claims) {
			if (this.#stalledAt(claim) > now) continue;
			claim.error = new SessionError(
				"limit_exceeded",
				`the reader made no progress for ${this.#stallMs} ms while the program waited`,
				{ hint: "read faster, follow live, or retain more output" },
			);
			this.#claims.delete(claim);
		}
		this.archive?.wake();
		this.#settle();
		this.#change.happen();
	}
}
