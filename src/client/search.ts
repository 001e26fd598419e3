/** Looks for an expression in a program's output as a person sees it: without colours, titles and cursor movements. */

/** An escape sequence: CSI, then strings such as titles and clipboards up to their end, then the short ones. */
export const SEQUENCE: RegExp =
	/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-OQ-WYZ\\`-~]/;
/** What may be the beginning of one, at the end of a piece. */
export const UNFINISHED: RegExp = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)?$/;
/** An unfinished sequence longer than this is not one. */
export const MAX_SEQUENCE = 4096;

/** What nobody sees: sequences, bells, and the return before a newline. */
const UNSEEN = new RegExp(`${SEQUENCE.source}|\u0007|\r(?=\n)`, "g");
/** What may turn out to be unseen with the next piece. */
const UNDECIDED = new RegExp(`(?:${UNFINISHED.source})|\r$`);
/** How far back a match may begin. */
const WINDOW_BYTES = 64 * 1024;

export type Found = {
	readonly match: RegExpExecArray;
	/** Of the first byte of the output after it. */
	readonly offset: number;
};

/** Text that was kept, from one place of the output on. */
type Run = { readonly offset: number; readonly bytes: Uint8Array };

export class Search {
	readonly #expression: RegExp;
	/** The newest text; and what came last, if nobody can tell yet what it is. */
	#runs: Run[] = [];
	#undecided: Run = { offset: 0, bytes: new Uint8Array() };

	constructor(expression: RegExp) {
		// With `g` or `y` an expression remembers where it was, which means nothing in a text that moves.
		this.#expression = new RegExp(expression.source, expression.flags.replace(/[gy]/g, ""));
	}

	/** The first match in the newest 64 KiB of text, with what has come now. */
	add(offset: number, bytes: Uint8Array): Found | undefined {
		const kept = this.#undecided.bytes;
		this.#take(offset - kept.byteLength, joined([kept, bytes]));
		const text = joined(this.#runs.map((run) => run.bytes));
		const match = this.#expression.exec(textOf(text));
		const found = match && { match, offset: this.#offsetAfter(byteAt(text, match.index + match[0].length)) };
		this.#forget(text.byteLength - WINDOW_BYTES);
		return found ?? undefined;
	}

	#take(offset: number, bytes: Uint8Array): void {
		// One character for each byte: what is looked for here is ASCII.
		const text = new TextDecoder("latin1").decode(bytes);
		const tail = UNDECIDED.exec(text)?.[0].length ?? 0;
		const end = text.length - (tail <= MAX_SEQUENCE ? tail : 0);
		const keep = (from: number, to: number) => {
			if (from < to) this.#runs.push({ offset: offset + from, bytes: bytes.slice(from, to) });
		};
		let from = 0;
		for (const { index, 0: unseen } of text.slice(0, end).matchAll(UNSEEN)) {
			keep(from, index);
			from = index + unseen.length;
		}
		keep(from, end);
		this.#undecided = { offset: offset + end, bytes: bytes.slice(end) };
	}

	/** Where the output goes on after so many bytes of the text. */
	#offsetAfter(count: number): number {
		let left = count;
		for (const { offset, bytes } of this.#runs) {
			if (left <= bytes.byteLength) return offset + left;
			left -= bytes.byteLength;
		}
		return this.#undecided.offset;
	}

	#forget(count: number): void {
		let left = count;
		while (left > 0) {
			const [oldest] = this.#runs;
			if (!oldest) return;
			if (oldest.bytes.byteLength > left) {
				this.#runs[0] = { offset: oldest.offset + left, bytes: oldest.bytes.subarray(left) };
				return;
			}
			left -= oldest.bytes.byteLength;
			this.#runs.shift();
		}
	}
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
	const all = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.byteLength;
	}
	return all;
}

/** Without the beginning of a character whose rest has not come yet. */
function textOf(bytes: Uint8Array): string {
	return new TextDecoder().decode(bytes, { stream: true });
}

/** How many bytes make the first so many characters; by trial, because output need not be valid UTF-8. */
function byteAt(bytes: Uint8Array, characters: number): number {
	let low = 0;
	let high = bytes.byteLength;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (textOf(bytes.subarray(0, middle)).length < characters) low = middle + 1;
		else high = middle;
	}
	return low;
}
