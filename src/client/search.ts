/** Looks for an expression in a program's output as a person sees it: without colours, titles and cursor movements. */

import { byteAt, joined, type Run, textOf, VisibleText } from "../protocol/visible-text.ts";

/** How far back a match may begin. */
const WINDOW_BYTES = 64 * 1024;

export type Found = {
	readonly match: RegExpExecArray;
	/** Of the first byte of the output after it. */
	readonly offset: number;
};

export class Search {
	readonly #expression: RegExp;
	readonly #visible = new VisibleText({ hasReturns: false });
	/** The newest text. */
	#runs: Run[] = [];

	constructor(expression: RegExp) {
		// With `g` or `y` an expression remembers where it was, which means nothing in a text that moves.
		this.#expression = new RegExp(expression.source, expression.flags.replace(/[gy]/g, ""));
	}

	/** The first match in the newest 64 KiB of text, with what has come now. */
	add(offset: number, bytes: Uint8Array): Found | undefined {
		// Not as arguments, of which a megabyte of colours has more than a call may have.
		for (const run of this.#visible.take(offset, bytes)) this.#runs.push(run);
		const text = joined(this.#runs.map((run) => run.bytes));
		const match = this.#expression.exec(textOf(text));
		const found = match && { match, offset: this.#offsetAfter(byteAt(text, match.index + match[0].length)) };
		this.#forget(text.byteLength - WINDOW_BYTES);
		return found ?? undefined;
	}

	/** Where the output goes on after so many bytes of the text. */
	#offsetAfter(count: number): number {
		let left = count;
		for (const { offset, bytes } of this.#runs) {
			if (left <= bytes.byteLength) return offset + left;
			left -= bytes.byteLength;
		}
		return this.#visible.offset;
	}

	#forget(count: number): void {
		let left = count;
		let gone = 0;
		for (const { offset, bytes } of this.#runs) {
			if (bytes.byteLength > left) {
				if (left > 0) this.#runs[gone] = { offset: offset + left, bytes: bytes.subarray(left) };
				break;
			}
			left -= bytes.byteLength;
			gone++;
		}
		// At once: one after the other each would move all those behind it.
		this.#runs.splice(0, gone);
	}
}
