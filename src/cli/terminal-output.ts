/** A program's output on its way to our own terminal: shown as it is, noted, and without questions where no answer may come. */

import { TerminalModes } from "./terminal-modes.ts";

/** CSI; strings such as titles up to their end; the short ones; and ENQ, which asks for an answer all by itself. */
const SEQUENCE =
	/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-OQ-WYZ\\`-~]|\u0005/g;
/** What may be the beginning of one, at the end of a piece. */
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)?$/;
/** An unfinished sequence longer than this is not one that matters here. */
const MAX_SEQUENCE = 4096;

/** Sequences to which a terminal types an answer. */
const QUESTIONS: readonly RegExp[] = [
	/^\u0005$/,
	/^\u001bZ$/,
	// Device status, cursor position; device attributes; version; keyboard flags; modes; sizes; rectangles.
	/^\u001b\[\??[\d;]*n$/,
	/^\u001b\[[>=]?[\d;]*c$/,
	/^\u001b\[>[\d;]*q$/,
	/^\u001b\[\?u$/,
	/^\u001b\[\?[\d;]*m$/,
	/^\u001b\[\??[\d;]*\$p$/,
	/^\u001b\[(?:1[1-9]|2[01])(?:;[\d;]*)?t$/,
	/^\u001b\[[01]?x$/,
	/^\u001b\[[\d;]*(?:\*y|\$w)$/,
	// Colours and the clipboard; settings and capabilities; graphics.
	/^\u001b\][\d;]*[^\u0007\u001b]*;\?(?:;|\u0007|\u001b)/,
	/^\u001bP[$+]q/,
	/^\u001b_G[^;]*a=q/,
];

export class TerminalOutput {
	readonly modes: TerminalModes = new TerminalModes();
	/** The beginning of a sequence that is not complete yet, and whether it was shown. */
	#rest = "";
	#isRestShown = true;

	/**
	 * What to show of the next piece. Without `answers`, questions are left out: what is replayed was answered long
	 * ago, and a second answer would be typed into the program.
	 */
	push(bytes: Uint8Array, { answers }: { readonly answers: boolean }): Uint8Array {
		const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
		const all = this.#rest + piece;
		// Most output has no sequence in it at all.
		if (!/[\u001b\u0005]/.test(all)) return bytes;
		const shownBefore = this.#isRestShown ? this.#rest.length : 0;
		const unfinished = UNFINISHED.exec(all)?.[0] ?? "";
		this.#rest = unfinished.length <= MAX_SEQUENCE ? unfinished : "";
		const ready = all.slice(0, all.length - this.#rest.length);
		let shown = "";
		let last = 0;
		for (const match of ready.matchAll(SEQUENCE)) {
			const [sequence] = match;
			this.modes.see(sequence);
			// A question whose beginning was shown can't be taken back.
			if (answers || match.index < shownBefore || !QUESTIONS.some((question) => question.test(sequence))) continue;
			shown += ready.slice(last, match.index);
			last = match.index + sequence.length;
		}
		// Only what is filtered is held back: a live program's keystroke must not wait for the end of a sequence.
		this.#isRestShown = answers || this.#rest === "";
		shown += ready.slice(last) + (this.#isRestShown ? this.#rest : "");
		return Buffer.from(shown.slice(shownBefore), "latin1");
	}

	/** What was held back when nothing more comes. */
	end(): Uint8Array {
		const held = this.#isRestShown ? "" : this.#rest;
		this.#rest = "";
		return Buffer.from(held, "latin1");
	}
}
