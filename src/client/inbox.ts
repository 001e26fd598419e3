/**
 * Where an attachment's output stands, so that what a new connection repeats is left out.
 *
 * A connection begins with a byte that was asked for, which may be before what has arrived already, and
 * repeats everything that stands there: output is trimmed by its offset, an event without bytes is known
 * by its place among those at the same offset.
 */

import { HawserError } from "./error.ts";

type Range = { readonly from: number; readonly to: number };

export class Inbox {
	/** The next byte; undefined until a first connection said where "end" is. */
	#position: number | undefined;
	/** How many events without bytes have arrived at this position, and how many of them will come again. */
	#events = 0;
	#repeated = 0;
	#isOpened = false;

	constructor(since: number | "end") {
		if (since !== "end") this.#position = since;
	}

	/**
	 * A connection begins at `from`, or after a gap that ends there, where `asked` was asked for.
	 * `isOver`: the session has ended, and with its keeper or its machine it may have lost what we have read.
	 * True for the first one.
	 */
	open(asked: number | "end", from: number, isOver: boolean): boolean {
		const isFirst = !this.#isOpened;
		this.#isOpened = true;
		// The first one may be told to begin beyond the end; later there is nothing that was not there before.
		if (this.#position === undefined || (isFirst && from < this.#position)) this.#position = from;
		else if (asked !== "end" && from < asked && !isOver) {
			throw new HawserError("internal", `the output ends at byte ${from}, but has been read up to ${asked}`);
		}
		this.#repeated = this.#events;
		return isFirst;
	}

	/** A first connection begins with the screen at this place, whatever was asked for. */
	begin(position: number): void {
		this.#isOpened = true;
		this.#moveTo(position);
	}

	get position(): number | undefined {
		return this.#position;
	}

	/** What is new of the bytes at an offset; undefined when there is nothing. */
	output(offset: number, bytes: Uint8Array): { offset: number; bytes: Uint8Array } | undefined {
		const position = this.#reach(offset);
		const end = offset + bytes.byteLength;
		if (end <= position) return undefined;
		this.#moveTo(end);
		return { offset: position, bytes: bytes.subarray(position - offset) };
	}

	/** What is new of a gap. */
	gap({ from, to }: Range): Range | undefined {
		const position = this.#reach(from);
		if (to <= position) return undefined;
		this.#moveTo(to);
		return { from: position, to };
	}

	/** Whether an event without bytes is new. */
	event(offset: number): boolean {
		const position = this.#reach(offset);
		if (offset < position) return false;
		if (this.#repeated > 0) {
			this.#repeated--;
			return false;
		}
		this.#events++;
		return true;
	}

	#reach(offset: number): number {
		const position = this.#position ?? offset;
		if (offset > position) {
			throw new HawserError("internal", `the output goes on at byte ${offset}, but byte ${position} is due`);
		}
		return position;
	}

	#moveTo(position: number): void {
		this.#position = position;
		this.#events = 0;
		this.#repeated = 0;
	}
}
