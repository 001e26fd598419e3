/** Searches output for an expression, line by line. The matches do not depend on how the bytes are split. */

import { isAscii } from "node:buffer";
import type { SearchMatch } from "../../api/types.ts";
import { byteAt, VisibleText } from "../../words/visible-text.ts";
import { TextOffsets } from "./text-offsets.ts";

/**
 * A longer line is searched in pieces of this length, so that memory stays bounded.
 * @limit a searched line | it is searched as several
 */
export const LONGEST_LINE_BYTES: number = 64 * 1024;
/** Length of the reported excerpt of a line, in UTF-16 units, and of the part before the match if the line is cut. */
export const EXCERPT_LENGTH = 1024;
const EXCERPT_BEFORE = 256;
/** Up to this many bytes, copying in a loop is faster than a call. */
const SHORT_BYTES = 128;
const LINE_END = Buffer.from("\n");

/** Output with its time. A jump of `offset` means that output is missing. */
type TimedBytes = { readonly offset: number; readonly time: number; readonly bytes: Uint8Array };

export class LineSearch {
	readonly #expression: RegExp;
	readonly #isLiteral: boolean;
	/** Number of matches still to find. */
	#wanted: number;
	readonly #found: SearchMatch[] = [];
	#visible = new VisibleText({ hasReturns: true });
	/** Expected offset of the next piece. */
	#next: number | undefined;
	/** Text from the beginning of the current line on, and its length. */
	#text = Buffer.alloc(LONGEST_LINE_BYTES);
	#length = 0;
	readonly #textOffsets = new TextOffsets();
	#resumeAt = 0;

	/** `isLiteral`: the expression is a plain text. If the whole buffer does not contain it, no line does. */
	constructor(
		expression: RegExp,
		{ limit, isLiteral = false }: { readonly limit: number; readonly isLiteral?: boolean },
	) {
		this.#expression = expression;
		this.#isLiteral = isLiteral;
		this.#wanted = limit;
	}

	/** Whether the maximum number of matches is reached. */
	get isFull(): boolean {
		return this.#wanted === 0;
	}

	/** Offset at which the next search has to begin, so that no line is searched twice or missed. */
	get resumeAt(): number {
		return this.#resumeAt;
	}

	push(pieces: readonly TimedBytes[]): void {
		for (const { offset, time, bytes } of pieces) {
			if (this.#next !== undefined && offset !== this.#next) this.finish();
			// Text at the end of the previous piece may be recognized only now. It gets the later time.
			this.#visible.read(offset, bytes, (place, all, from, to) => this.#add(place, time, all, from, to));
			this.#next = offset + bytes.byteLength;
		}
		this.#searchLines();
		// Without this, a long invisible part would be searched again and again.
		if (this.#length === 0 && !this.isFull) this.#resumeAt = this.#visible.offset;
	}

	/** Handles the end of the output: an unfinished line counts too. */
	finish(): void {
		// Adds a line end, but no empty line after a finished one.
		if (this.#length > 0) this.#add(this.#visible.offset, 0, LINE_END, 0, LINE_END.byteLength);
		this.#searchLines();
		if (this.isFull) return;
		this.#resumeAt = this.#next ?? 0;
		this.#visible = new VisibleText({ hasReturns: true });
	}

	/** Returns the new matches. */
	take(): SearchMatch[] {
		return this.#found.splice(0);
	}

	#add(offset: number, time: number, bytes: Uint8Array, from: number, to: number): void {
		this.#textOffsets.add(this.#length, offset, time);
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
		// Most text is ASCII. Decoding all of it at once is much cheaper than line by line.
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
		const cut = line.length > EXCERPT_LENGTH ? Math.max(0, match.index - EXCERPT_BEFORE) : 0;
		const excerpt = line.slice(cut, cut + EXCERPT_LENGTH);
		this.#found.push({
			offset: this.#textOffsets.offsetOf(begin),
			end: over > begin ? this.#offsetAfter(over - 1) : this.#textOffsets.offsetOf(begin),
			time: this.#textOffsets.timeOf(begin),
			line: this.#textOffsets.offsetOf(from),
			text: excerpt,
			at: [match.index - cut, Math.min(match.index - cut + match[0].length, excerpt.length)],
		});
		this.#wanted--;
	}

	#forget(count: number): void {
		this.#text.copyWithin(0, count, this.#length);
		this.#length -= count;
		if (this.#length > 0) this.#textOffsets.forget(count);
		else this.#textOffsets.clear();
	}

	/** Output offset after a byte of the text. The next text byte may come later because of invisible bytes. */
	#offsetAfter(at: number): number {
		return this.#textOffsets.offsetOf(at) + 1;
	}
}

/** Finds line ends in a text with one character per byte, line by line. */
class LineEnds {
	readonly #text: string;
	/** The next position of each, searched only once it is passed: a rare character may be far away. */
	#newline = -1;
	#return = -1;

	constructor(text: string) {
		this.#text = text;
	}

	/** End of the last newline. */
	get last(): number {
		return this.#text.lastIndexOf("\n") + 1;
	}

	/**
	 * End of the line that begins at `from`, and beginning of the next: after a newline, a return or both, or where the
	 * line is too long. Undefined while that is not known.
	 */
	next(from: number): [end: number, next: number] | undefined {
		if (this.#newline < from) this.#newline = this.#find("\n", from);
		if (this.#return < from) this.#return = this.#find("\r", from);
		const end = Math.min(this.#newline, this.#return);
		if (end > from + LONGEST_LINE_BYTES) return this.#cut(from + LONGEST_LINE_BYTES);
		if (end === this.#newline) return [end, end + 1];
		// The terminal adds a return to `\n`, and the program may have written one too: any number counts as one line end.
		let next = end + 1;
		while (this.#text[next] === "\r" && next - end < LONGEST_LINE_BYTES) next++;
		if (next === this.#text.length) return undefined;
		return [end, this.#text[next] === "\n" ? next + 1 : next];
	}

	/** Avoids cutting a character, which may have up to three bytes before. */
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
