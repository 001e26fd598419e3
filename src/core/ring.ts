/**
 * A run of consecutive events in memory: it grows at its end and is dropped from its beginning, each
 * in constant time. An event that is dropped is no longer referred to, so that what a run counts is
 * what it costs.
 */

import { invariant } from "./errors.ts";
import { byteLength, type Event, type Mark } from "./event.ts";

/** Room to begin with; it doubles as needed, and is always a power of two. */
const FIRST_SLOTS = 16;

export class EventRing {
	/** The event numbered `seq` is in slot `seq` modulo their number, so that nothing moves when others go. */
	#slots: (Event | undefined)[] = empty(FIRST_SLOTS);
	#oldestSeq: number;
	#end: Mark;
	#bytes = 0;

	/** The first event must stand at `begin`. */
	constructor(begin: Mark = { seq: 1, offset: 0 }) {
		this.#oldestSeq = begin.seq;
		this.#end = begin;
	}

	/** Where the next event will stand. */
	get end(): Mark {
		return this.#end;
	}

	/** The oldest event, or `end` when there is none. */
	get oldest(): Mark {
		return this.#at(this.#oldestSeq) ?? this.#end;
	}

	get count(): number {
		return this.#end.seq - this.#oldestSeq;
	}

	/** Output bytes of all events. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Whether dropping the oldest event would still leave that many bytes or events. Never with one alone: the newest always stays. */
	exceeds(bytes: number, events: number): boolean {
		const oldest = this.#at(this.#oldestSeq);
		if (!oldest || this.count <= 1) return false;
		return this.count > events || this.#bytes - byteLength(oldest) >= bytes;
	}

	push(event: Event): void {
		invariant(event.seq === this.#end.seq, `event ${event.seq} where ${this.#end.seq} is expected`);
		if (this.count === this.#slots.length) this.#grow();
		this.#slots[event.seq & (this.#slots.length - 1)] = event;
		const length = byteLength(event);
		this.#bytes += length;
		this.#end = { seq: event.seq + 1, offset: event.offset + length };
	}

	dropOldest(): void {
		const event = this.#at(this.#oldestSeq);
		invariant(event, "there is an event to drop");
		this.#slots[event.seq & (this.#slots.length - 1)] = undefined;
		this.#oldestSeq++;
		this.#bytes -= byteLength(event);
	}

	/** Drops everything; the next event must stand at `to`. */
	reset(to: Mark): void {
		this.#slots = empty(FIRST_SLOTS);
		this.#oldestSeq = to.seq;
		this.#end = to;
		this.#bytes = 0;
	}

	/** Events from `seq` on, or from the oldest, at least one if there is any, at most about `maxBytes`. */
	peek(seq: number, maxBytes: number): readonly Event[] {
		const events: Event[] = [];
		let next = Math.max(seq, this.#oldestSeq);
		for (let bytes = 0; events.length === 0 || bytes < maxBytes; next++) {
			const event = this.#at(next);
			if (!event) break;
			events.push(event);
			bytes += byteLength(event);
		}
		return events;
	}

	/** The number of the first event that holds the output byte at `offset`, or stands at or after it. */
	seqAt(offset: number): number {
		let low = this.#oldestSeq;
		let high = this.#end.seq;
		while (low < high) {
			const middle = Math.floor((low + high) / 2);
			const event = this.#at(middle) as Event;
			// An event that carries nothing stands at its offset, one that carries bytes reaches beyond it.
			const isBefore = event.kind === "output" ? event.offset + byteLength(event) <= offset : event.offset < offset;
			if (isBefore) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	#at(seq: number): Event | undefined {
		if (seq < this.#oldestSeq || seq >= this.#end.seq) return undefined;
		return this.#slots[seq & (this.#slots.length - 1)];
	}

	#grow(): void {
		const slots = empty(this.#slots.length * 2);
		for (let seq = this.#oldestSeq; seq < this.#end.seq; seq++) slots[seq & (slots.length - 1)] = this.#at(seq);
		this.#slots = slots;
	}
}

function empty(count: number): (Event | undefined)[] {
	return new Array<Event | undefined>(count).fill(undefined);
}
