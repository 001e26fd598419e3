/** A program's output as a person sees it: without colours, titles, bells and cursor movements, however its bytes are cut. */

/** A sequence whose parameters or text are longer than this, in bytes, is none: one that never ends must not hide what follows. */
const LONGEST = 4096;
const PARAMETERS = `[0-?]{0,${LONGEST}}[ -/]{0,${LONGEST}}`;
const STRING = `[\\]PX^_][^\\u0007\\u001b]{0,${LONGEST}}`;
const INTERMEDIATES = `[ -/]{0,${LONGEST}}`;

/** An escape sequence: CSI, then strings such as titles and clipboards up to their end, then the short ones. */
export const SEQUENCE: RegExp = new RegExp(
	`\\u001b\\[${PARAMETERS}[@-~]|\\u001b${STRING}(?:\\u0007|\\u001b\\\\)|\\u001b${INTERMEDIATES}[0-OQ-WYZ\\\\\`-~]`,
);
/** What may be the beginning of one, at the end of a piece. */
export const UNFINISHED: RegExp = new RegExp(`\\u001b(?:\\[${PARAMETERS}|${STRING}\\u001b?|${INTERMEDIATES})?$`);

const ESCAPE = 0x1b;
const BELL = 0x07;
const RETURN = 0x0d;

/** What nobody sees, what may turn out to be that with the next piece, and with one of which bytes it begins. */
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
/** How far from the end of a piece that can begin. */
const LONGEST_UNFINISHED = 2 * LONGEST + 8;

/** Text that is seen, from one place of the output on. */
export type Run = { readonly offset: number; readonly bytes: Uint8Array };

/** Hears of `bytes` between two places, which stand from `offset` on in the output; they are good for the moment. */
export type TellText = (offset: number, bytes: Uint8Array, from: number, to: number) => void;

export class VisibleText {
	readonly #unseen: Unseen;
	/** What came last, while nobody can tell what it is. */
	#undecided: Run = { offset: 0, bytes: new Uint8Array() };

	/** A return before a newline is text, too, unless lines are to end with newlines alone. */
	constructor({ hasReturns }: { readonly hasReturns: boolean }) {
		this.#unseen = hasReturns ? ANYTHING_UNSEEN : WITH_RETURNS;
	}

	/** Where the output goes on after all text that was given out. */
	get offset(): number {
		return this.#undecided.offset;
	}

	/** The text in the next piece of the output, in copies of its bytes. What has no end yet is kept for the piece after. */
	take(offset: number, bytes: Uint8Array): Run[] {
		const runs: Run[] = [];
		this.read(offset, bytes, (place, all, from, to) => runs.push({ offset: place, bytes: all.slice(from, to) }));
		return runs;
	}

	/** The same without copies, for output that is full of sequences. */
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
		// One character for each byte: what is looked for here is ASCII.
		const text = new TextDecoder("latin1").decode(all);
		const tail = begun.exec(text.slice(-LONGEST_UNFINISHED))?.[0].length ?? 0;
		const decided = text.slice(0, text.length - tail);
		let from = 0;
		// Tried where it may begin, which is found byte by byte: a search for it by the expression makes something of each.
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

/** Without the beginning of a character whose rest has not come yet. */
export function textOf(bytes: Uint8Array): string {
	return new TextDecoder().decode(bytes, { stream: true });
}

/** How many bytes make the first so many characters; by trial, because output need not be valid UTF-8. */
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
