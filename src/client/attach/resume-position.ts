/**
 * Tracks the output position of an attachment, and drops what a new connection repeats.
 *
 * A connection starts at the requested byte, which may be before what has already arrived, and repeats everything from
 * there. Output is trimmed by its offset; an event without bytes is recognized by its index among those at the same
 * offset.
 */

import { HawserError } from "../errors.ts";

type Range = { readonly from: number; readonly to: number };

export class ResumePosition {
	/** The next byte; undefined until the first connection has resolved "end". */
	#position: number | undefined;
	/** Events without bytes that arrived at this position, and how many of them will be repeated. */
	#events = 0;
	#repeated = 0;
	#isOpened = false;

	constructor(since: number | "end") {
		if (since !== "end") this.#position = since;
	}

	/**
	 * A connection starts at `from`, or after a gap that ends there; `asked` was requested. `isOver` means that the
	 * session has ended and may have lost output that was already read, with its keeper or machine. Returns whether this
	 * is the first connection.
	 */
	resume(asked: number | "end", from: number, isOver: boolean): boolean {
		const isFirst = !this.#isOpened;
		this.#isOpened = true;
		// The first connection may start before a requested offset beyond the end; later ones may not.
		if (this.#position === undefined || (isFirst && from < this.#position)) this.#position = from;
		else if (asked !== "end" && from < asked && !isOver) {
			throw new HawserError("internal", `the output ends at byte ${from}, but was read up to ${asked}`);
		}
		this.#repeated = this.#events;
		return isFirst;
	}

	/** The first connection starts with the screen at this offset, whatever was requested. */
	begin(position: number): void {
		this.#isOpened = true;
		this.#moveTo(position);
	}

	get position(): number | undefined {
		return this.#position;
	}

	/** The new part of the bytes at an offset; undefined if there is none. */
	output(offset: number, bytes: Uint8Array): { offset: number; bytes: Uint8Array } | undefined {
		const position = this.#reach(offset);
		const end = offset + bytes.byteLength;
		if (end <= position) return undefined;
		this.#moveTo(end);
		return { offset: position, bytes: bytes.subarray(position - offset) };
	}

	/** The new part of a gap. */
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
			throw new HawserError("internal", `protocol error: output continues at byte ${offset}, expected ${position}`);
		}
		return position;
	}

	#moveTo(position: number): void {
		this.#position = position;
		this.#events = 0;
		this.#repeated = 0;
	}
}
