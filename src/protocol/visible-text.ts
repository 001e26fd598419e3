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

/** What nobody sees, what may turn out to be that with the next piece, and one of which bytes it has. */
type Unseen = { readonly whole: RegExp; readonly begun: RegExp; readonly bytes: readonly number[] };

const ANYTHING_UNSEEN: Unseen = {
	whole: new RegExp(`${SEQUENCE.source}|\\u0007`, "g"),
	begun: UNFINISHED,
	bytes: [ESCAPE, BELL],
};
const WITH_RETURNS: Unseen = {
	whole: new RegExp(`${SEQUENCE.source}|\\u0007|\\r(?=\\n)`, "g"),
	begun: new RegExp(`(?:${UNFINISHED.source})|\\r$`),
	bytes: [ESCAPE, BELL, RETURN],
};
/** How far from the end of a piece that can begin. */
const LONGEST_UNFINISHED = 2 * LONGEST + 8;

/** Text that is seen, from one place of the output on. */
export type Run = { readonly offset: number; readonly bytes: Uint8Array };

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
		const kept = this.#undecided.bytes;
		const { whole, begun, bytes: parts } = this.#unseen;
		if (kept.byteLength === 0 && !parts.some((byte) => bytes.includes(byte))) {
			this.#undecided = { offset: offset + bytes.byteLength, bytes: kept };
			return bytes.byteLength > 0 ? [{ offset, bytes: bytes.slice() }] : [];
		}
		const begin = offset - kept.byteLength;
		const all = kept.byteLength > 0 ? joined([kept, bytes]) : bytes;
		// One character for each byte: what is looked for here is ASCII.
		const text = new TextDecoder("latin1").decode(all);
		const tail = begun.exec(text.slice(-LONGEST_UNFINISHED))?.[0].length ?? 0;
		const end = text.length - tail;
		const runs: Run[] = [];
		const keep = (from: number, to: number) => {
			if (from < to) runs.push({ offset: begin + from, bytes: all.slice(from, to) });
		};
		let from = 0;
		for (const { index, 0: unseen } of text.slice(0, end).matchAll(whole)) {
			keep(from, index);
			from = index + unseen.length;
		}
		keep(from, end);
		this.#undecided = { offset: begin + end, bytes: all.slice(end) };
		return runs;
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
