/**
 * A run of consecutive events in memory. Appending and dropping the oldest take constant time. A dropped event is no
 * longer referenced, so `bytes` is the memory in use.
 */

import { invariant } from "../errors.ts";
import { byteLength, type Event, type LogPosition } from "./event.ts";

/** Initial capacity. It doubles as needed and is always a power of two. */
const FIRST_SLOTS = 16;

export class EventRing {
	/** Event `seq` is in slot `seq` modulo the number of slots, so events never move. */
	#slots: (Event | undefined)[] = empty(FIRST_SLOTS);
	#oldestSeq: number;
	#end: LogPosition;
	#bytes = 0;

	/** `begin` is the position of the first event. */
	constructor(begin: LogPosition = { seq: 1, offset: 0 }) {
		this.#oldestSeq = begin.seq;
		this.#end = begin;
	}

	/** Position of the next event. */
	get end(): LogPosition {
		return this.#end;
	}

	/** The oldest event, or `end` when there is none. */
	get oldest(): LogPosition {
		return this.#at(this.#oldestSeq) ?? this.#end;
	}

	get count(): number {
		return this.#end.seq - this.#oldestSeq;
	}

	/** Output bytes of all events. */
	get bytes(): number {
		return this.#bytes;
	}

	/**
	 * Whether that many bytes or events would remain after dropping the oldest. False with one event: the newest always
	 * stays.
	 */
	exceeds(bytes: number, events: number): boolean {
		const oldest = this.#at(this.#oldestSeq);
		if (!oldest || this.count <= 1) return false;
		return this.count > events || this.#bytes - byteLength(oldest) >= bytes;
	}

	push(event: Event): void {
		invariant(event.seq === this.#end.seq, `expected event ${this.#end.seq}, not ${event.seq}`);
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

	/** Drops everything. The next event must be at `to`. */
	reset(to: LogPosition): void {
		this.#slots = empty(FIRST_SLOTS);
		this.#oldestSeq = to.seq;
		this.#end = to;
		this.#bytes = 0;
	}

	/** Events from `seq` or the oldest on: at least one if there is any, about `maxBytes` at most. */
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

	/** Number of the first event that holds the output byte at `offset`, or is at or after it. */
	seqAt(offset: number): number {
		let low = this.#oldestSeq;
		let high = this.#end.seq;
		while (low < high) {
			const middle = Math.floor((low + high) / 2);
			const event = this.#at(middle) as Event;
			// An event without bytes is at its offset; one with bytes extends past it.
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
