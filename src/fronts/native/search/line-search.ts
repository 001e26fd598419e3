/** Looks for an expression in output as text on lines: bytes in any pieces, the same matches whatever the pieces are. */

import { isAscii } from "node:buffer";
import type { SearchMatch } from "../../../protocol/past.ts";
import { byteAt, VisibleText } from "../../../protocol/visible-text.ts";
import { TextPlaces } from "./text-places.ts";

/** A line longer than this is searched as several, each this long, so that none is waited for without a bound. */
export const LONGEST_LINE_BYTES: number = 64 * 1024;
/** How much of a line is told, in UTF-16 units; and how much of that comes before the match, where it must be cut. */
export const TOLD_LENGTH = 1024;
const TOLD_BEFORE = 256;
/** Up to here, in bytes, a copy byte by byte costs less than the call of a copy. */
const SHORT_BYTES = 128;
const LINE_END = Buffer.from("\n");

/** Output with the time at which it was written; where `offset` does not follow on the piece before, something is missing. */
export type Piece = { readonly offset: number; readonly time: number; readonly bytes: Uint8Array };

export class LineSearch {
	readonly #expression: RegExp;
	readonly #isLiteral: boolean;
	/** How many matches are still wanted. */
	#wanted: number;
	readonly #found: SearchMatch[] = [];
	#visible = new VisibleText({ hasReturns: true });
	/** Where the next piece must begin if nothing is missing. */
	#next: number | undefined;
	/** The text from the beginning of the current line on, which is so much of this, and where it was. */
	#text = Buffer.alloc(LONGEST_LINE_BYTES);
	#length = 0;
	readonly #places = new TextPlaces();
	#resumeAt = 0;

	/** `isLiteral`: the expression is nothing but a text, which is in no line if it is not in all of them together. */
	constructor(
		expression: RegExp,
		{ limit, isLiteral = false }: { readonly limit: number; readonly isLiteral?: boolean },
	) {
		this.#expression = expression;
		this.#isLiteral = isLiteral;
		this.#wanted = limit;
	}

	/** It has found as many as it may. */
	get isFull(): boolean {
		return this.#wanted === 0;
	}

	/** The offset at which another search has to begin, so that no line is searched twice and none is missed. */
	get resumeAt(): number {
		return this.#resumeAt;
	}

	push(pieces: readonly Piece[]): void {
		for (const { offset, time, bytes } of pieces) {
			if (this.#next !== undefined && offset !== this.#next) this.finish();
			// What began in the piece before may only now be known to be text: it gets the later time.
			this.#visible.read(offset, bytes, (place, all, from, to) => this.#add(place, time, all, from, to));
			this.#next = offset + bytes.byteLength;
		}
		this.#searchLines();
		// However much of it is nothing to see, a search that is gone on with gets ahead.
		if (this.#length === 0 && !this.isFull) this.#resumeAt = this.#visible.offset;
	}

	/** Nothing follows: what has no end is a line, too. */
	finish(): void {
		// As if the end were the end of a line; that adds none after a last line that has one.
		if (this.#length > 0) this.#add(this.#visible.offset, 0, LINE_END, 0, LINE_END.byteLength);
		this.#searchLines();
		if (this.isFull) return;
		this.#resumeAt = this.#next ?? 0;
		this.#visible = new VisibleText({ hasReturns: true });
	}

	/** What was found since this was asked for. */
	take(): SearchMatch[] {
		return this.#found.splice(0);
	}

	#add(offset: number, time: number, bytes: Uint8Array, from: number, to: number): void {
		this.#places.add(this.#length, offset, time);
		const text = this.#roomFor(to - from);
		let end = this.#length;
		if (to - from > SHORT_BYTES) text.set(bytes.subarray(from, to), end);
		else for (let at = from; at < to; at++) text[end++] = bytes[at] ?? 0;
		this.#length += to - from;
	}

	#roomFor(bytes: number): Buffer {
		if (this.#length + bytes > this.#text.byteLength) {
			const larger = Buffer.alloc(2 * (this.#length + bytes));
			larger.set(this.#text.subarray(0, this.#length));
			this.#text = larger;
		}
		return this.#text;
	}

	#searchLines(): void {
		const text = this.#text.subarray(0, this.#length);
		const bytes = text.toString("latin1");
		const ends = new LineEnds(bytes);
		// Most text is ASCII: to decode it at once is much cheaper than line by line.
		const ascii = isAscii(text) ? bytes : undefined;
		const mayMatch = !this.#isLiteral || this.#expression.test(ascii ?? text.toString("utf8"));
		let from = mayMatch ? 0 : ends.last;
		while (!this.isFull) {
			const [end, next] = ends.next(from) ?? [];
			if (end === undefined || next === undefined) break;
			if (mayMatch) this.#search(ascii?.slice(from, end) ?? text.toString("utf8", from, end), text, from, end);
			from = next;
		}
		if (from > 0) this.#resumeAt = this.#offsetAfter(from - 1);
		this.#forget(from);
	}

	#search(line: string, text: Buffer, from: number, end: number): void {
		const match = this.#expression.exec(line);
		if (!match) return;
		const bytes = text.subarray(from, end);
		const begin = from + byteAt(bytes, match.index);
		const over = from + byteAt(bytes, match.index + match[0].length);
		const cut = line.length > TOLD_LENGTH ? Math.max(0, match.index - TOLD_BEFORE) : 0;
		const told = line.slice(cut, cut + TOLD_LENGTH);
		this.#found.push({
			offset: this.#places.offsetOf(begin),
			end: over > begin ? this.#offsetAfter(over - 1) : this.#places.offsetOf(begin),
			time: this.#places.timeOf(begin),
			line: this.#places.offsetOf(from),
			text: told,
			at: [match.index - cut, Math.min(match.index - cut + match[0].length, told.length)],
		});
		this.#wanted--;
	}

	#forget(count: number): void {
		this.#text.copyWithin(0, count, this.#length);
		this.#length -= count;
		if (this.#length > 0) this.#places.forget(count);
		else this.#places.clear();
	}

	/** Of what follows on a byte of the text, which may be something that is not seen. */
	#offsetAfter(at: number): number {
		return this.#places.offsetOf(at) + 1;
	}
}

/** Where lines end in a text, one character for each byte; asked for one line after the other. */
class LineEnds {
	readonly #text: string;
	/** The next of each, which is looked for only once it is passed: one that is rare is far away. */
	#newline = -1;
	#return = -1;

	constructor(text: string) {
		this.#text = text;
	}

	/** Where the last newline ends. */
	get last(): number {
		return this.#text.lastIndexOf("\n") + 1;
	}

	/**
	 * Where the line ends that begins at `from`, and where the next one begins: after a newline, a return, or both; or where
	 * it is too long. Undefined while that is not known.
	 */
	next(from: number): [end: number, next: number] | undefined {
		if (this.#newline < from) this.#newline = this.#find("\n", from);
		if (this.#return < from) this.#return = this.#find("\r", from);
		const end = Math.min(this.#newline, this.#return);
		if (end > from + LONGEST_LINE_BYTES) return this.#cut(from + LONGEST_LINE_BYTES);
		if (end === this.#newline) return [end, end + 1];
		// A terminal makes a newline of `\n`, which a program may have put a return before: any number of them is one end.
		let next = end + 1;
		while (this.#text[next] === "\r" && next - end < LONGEST_LINE_BYTES) next++;
		if (next === this.#text.length) return undefined;
		return [end, this.#text[next] === "\n" ? next + 1 : next];
	}

	/** Not in the middle of a character, of which at most three bytes come before. */
	#cut(at: number): [end: number, next: number] | undefined {
		if (at >= this.#text.length) return undefined;
		let cut = at;
		for (let back = 0; back < 3 && (this.#text.charCodeAt(cut) & 0xc0) === 0x80; back++) cut--;
		return [cut, cut];
	}

	#find(what: string, from: number): number {
		const at = this.#text.indexOf(what, from);
		return at < 0 ? Number.POSITIVE_INFINITY : at;
	}
}
