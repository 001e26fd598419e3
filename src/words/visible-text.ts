/**
 * The visible text of a program's output: without colors, titles, bells and cursor movements, however the bytes are
 * split.
 */

/**
 * Longest parameters or text of a sequence, in bytes. A longer one does not count as a sequence, so that one without an
 * end can't hide the rest.
 */
const LONGEST = 4096;
const PARAMETERS = `[0-?]{0,${LONGEST}}[ -/]{0,${LONGEST}}`;
const STRING = `[\\]PX^_][^\\u0007\\u001b]{0,${LONGEST}}`;
const INTERMEDIATES = `[ -/]{0,${LONGEST}}`;

/** An escape sequence: CSI, then strings such as titles and clipboards up to their end, then the short ones. */
export const SEQUENCE: RegExp = new RegExp(
	`\\u001b\\[${PARAMETERS}[@-~]|\\u001b${STRING}(?:\\u0007|\\u001b\\\\)|\\u001b${INTERMEDIATES}[0-OQ-WYZ\\\\\`-~]`,
);
/** Matches a possible beginning of a sequence at the end of a piece. */
export const UNFINISHED: RegExp = new RegExp(`\\u001b(?:\\[${PARAMETERS}|${STRING}\\u001b?|${INTERMEDIATES})?$`);

const ESCAPE = 0x1b;
const BELL = 0x07;
const RETURN = 0x0d;

/** Matches invisible bytes, a possible beginning of them at the end of a piece, and the bytes they can start with. */
type Unseen = { readonly whole: RegExp; readonly begun: RegExp; readonly bytes: readonly number[] };

const ANYTHING_UNSEEN: Unseen = {
	whole: new RegExp(`${SEQUENCE.source}|\\u0007`, "y"),
	begun: UNFINISHED,
	bytes: [ESCAPE, BELL],
};
const WITH_RETURNS: Unseen = {
	whole: new RegExp(`${SEQUENCE.source}|\\u0007|\\r(?=\\n)`, "y"),
	begun: new RegExp(`(?:${UNFINISHED.source})|\\r$`),
	bytes: [ESCAPE, BELL, RETURN],
};
/** Longest possible unfinished match at the end of a piece. */
const LONGEST_UNFINISHED = 2 * LONGEST + 8;

/** Visible text at an offset of the output. */
export type Run = { readonly offset: number; readonly bytes: Uint8Array };

/**
 * Receives `bytes` between `from` and `to`, which begin at `offset` in the output. The bytes are valid only during the
 * call.
 */
type TellText = (offset: number, bytes: Uint8Array, from: number, to: number) => void;

export class VisibleText {
	readonly #unseen: Unseen;
	/** The end of the output so far, if it may be the beginning of a sequence. */
	#undecided: Run = { offset: 0, bytes: new Uint8Array() };

	/** With `hasReturns` a CR before a newline counts as text. Without it lines end with newlines alone. */
	constructor({ hasReturns }: { readonly hasReturns: boolean }) {
		this.#unseen = hasReturns ? ANYTHING_UNSEEN : WITH_RETURNS;
	}

	/** The output offset after all text that was returned. */
	get offset(): number {
		return this.#undecided.offset;
	}

	/** The text in the next piece of the output, copied. An unfinished sequence is kept for the next piece. */
	take(offset: number, bytes: Uint8Array): Run[] {
		const runs: Run[] = [];
		this.read(offset, bytes, (place, all, from, to) => runs.push({ offset: place, bytes: all.slice(from, to) }));
		return runs;
	}

	/** The same without copies, for output with many sequences. */
	read(offset: number, bytes: Uint8Array, tell: TellText): void {
		const kept = this.#undecided.bytes;
		const { whole, begun, bytes: parts } = this.#unseen;
		if (kept.byteLength === 0 && !parts.some((byte) => bytes.includes(byte))) {
			this.#undecided = { offset: offset + bytes.byteLength, bytes: kept };
			if (bytes.byteLength > 0) tell(offset, bytes, 0, bytes.byteLength);
			return;
		}
		const begin = offset - kept.byteLength;
		const all = kept.byteLength > 0 ? joined([kept, bytes]) : bytes;
		// latin1 decodes one character per byte, and the patterns are ASCII.
		const text = new TextDecoder("latin1").decode(all);
		const tail = begun.exec(text.slice(-LONGEST_UNFINISHED))?.[0].length ?? 0;
		const decided = text.slice(0, text.length - tail);
		let from = 0;
		// A loop over the bytes finds candidates faster than a search with the expression.
		for (let at = 0; at < decided.length; at++) {
			const byte = all[at];
			if (byte !== ESCAPE && byte !== BELL && byte !== RETURN) continue;
			whole.lastIndex = at;
			if (!whole.test(decided)) continue;
			if (from < at) tell(begin + from, all, from, at);
			from = whole.lastIndex;
			at = from - 1;
		}
		if (from < decided.length) tell(begin + from, all, from, decided.length);
		this.#undecided = { offset: begin + decided.length, bytes: all.slice(decided.length) };
	}
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
	const all = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.byteLength;
	}
	return all;
}

/** Decodes UTF-8 without an incomplete character at the end. */
export function textOf(bytes: Uint8Array): string {
	return new TextDecoder().decode(bytes, { stream: true });
}

/** The number of bytes in the first so many characters, by bisection, because output need not be valid UTF-8. */
export function byteAt(bytes: Uint8Array, characters: number): number {
	let low = 0;
	let high = bytes.byteLength;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (textOf(bytes.subarray(0, middle)).length < characters) low = middle + 1;
		else high = middle;
	}
	return low;
}
