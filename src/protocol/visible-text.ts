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

/** What nobody sees: sequences, bells, and the return before a newline. */
const UNSEEN = new RegExp(`${SEQUENCE.source}|\\u0007|\\r(?=\\n)`, "g");
/** What may turn out to be unseen with the next piece. */
const UNDECIDED = new RegExp(`(?:${UNFINISHED.source})|\\r$`);
/** How far from the end of a piece that can begin. */
const LONGEST_UNDECIDED = 2 * LONGEST + 8;

/** Text that is seen, from one place of the output on. */
export type Run = { readonly offset: number; readonly bytes: Uint8Array };

export class VisibleText {
	/** What came last, while nobody can tell what it is. */
	#undecided: Run = { offset: 0, bytes: new Uint8Array() };

	/** Where the output goes on after all text that was given out. */
	get offset(): number {
		return this.#undecided.offset;
	}

	/** The text in the next piece of the output, in copies of its bytes. What has no end yet is kept for the piece after. */
	take(offset: number, bytes: Uint8Array): Run[] {
		const kept = this.#undecided.bytes;
		const begin = offset - kept.byteLength;
		const all = kept.byteLength > 0 ? joined([kept, bytes]) : bytes;
		// One character for each byte: what is looked for here is ASCII.
		const text = new TextDecoder("latin1").decode(all);
		const tail = UNDECIDED.exec(text.slice(-LONGEST_UNDECIDED))?.[0].length ?? 0;
		const end = text.length - tail;
		const runs: Run[] = [];
		const keep = (from: number, to: number) => {
			if (from < to) runs.push({ offset: begin + from, bytes: all.slice(from, to) });
		};
		let from = 0;
		for (const { index, 0: unseen } of text.slice(0, end).matchAll(UNSEEN)) {
			keep(from, index);
			from = index + unseen.length;
		}
		keep(from, end);
		this.#undecided = { offset: begin + end, bytes: all.slice(end) };
		return runs;
	}

	/** What has no end, because nothing follows: a lone return is text, the beginning of a sequence is not. */
	finish(): Run[] {
		const { offset, bytes } = this.#undecided;
		this.#undecided = { offset: offset + bytes.byteLength, bytes: new Uint8Array() };
		return bytes[0] === RETURN ? [{ offset, bytes }] : [];
	}
}

const RETURN = 0x0d;

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
