/** Searches a program's output as displayed: without colors, titles and cursor movement. */

import { echoLength } from "../../words/typed-echo.ts";
import { byteAt, joined, type Run, textOf, VisibleText } from "../../words/visible-text.ts";

/** How far back a match may start. */
const WINDOW_BYTES = 64 * 1024;

type OutputMatch = {
	readonly match: RegExpExecArray;
	/** Offset of the first output byte after the match. */
	readonly offset: number;
};

export class OutputMatcher {
	readonly #expression: RegExp;
	readonly #visible = new VisibleText({ hasReturns: false });
	/** The newest text. */
	#runs: Run[] = [];
	/** Lines typed before the output, while their echo may still come. */
	#typed: readonly string[] = [];

	constructor(wanted: string | RegExp) {
		if (typeof wanted === "string") {
			this.#expression = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
			return;
		}
		// With `g` or `y` an expression remembers a position, which is wrong in text that moves.
		this.#expression = new RegExp(wanted.source, wanted.flags.replace(/[gy]/g, ""));
	}

	/** Ignores the echo of these lines at the start of the output. */
	passOver(typed: readonly string[]): void {
		this.#typed = typed;
	}

	/** The first match in the newest 64 KiB of text, including this output. */
	add(offset: number, bytes: Uint8Array): OutputMatch | undefined {
		// Not spread as arguments: colorful output has more runs than a call takes arguments.
		for (const run of this.#visible.take(offset, bytes)) this.#runs.push(run);
		if (this.#isEcho()) return undefined;
		const text = joined(this.#runs.map((run) => run.bytes));
		const match = this.#expression.exec(textOf(text));
		const found = match && { match, offset: this.#offsetAfter(byteAt(text, match.index + match[0].length)) };
		this.#forget(text.byteLength - WINDOW_BYTES);
		return found ?? undefined;
	}

	/** Whether all text so far is an echo. Drops the echo once other text follows. */
	#isEcho(): boolean {
		if (this.#typed.length === 0) return false;
		const text = joined(this.#runs.map((run) => run.bytes));
		const shown = textOf(text);
		const length = echoLength(shown, this.#typed);
		if (length === shown.length) return true;
		this.#typed = [];
		this.#forget(byteAt(text, length));
		return false;
	}

	/** The output offset after this many bytes of text. */
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
		// One splice, because removing one by one is quadratic.
		this.#runs.splice(0, gone);
	}
}
