/** A program's output on its way to our own terminal: shown as it is, noted, and without what it may not do there. */

import { isUtf8 } from "node:buffer";
import { isQuery } from "../core/terminal-queries.ts";
import { cutOff, LongString, mayHaveSequences, sequencesIn, type Token } from "./escape-sequences.ts";
import { TerminalModes } from "./terminal-modes.ts";

/** How a piece is shown. */
export type Manner =
	/** As it is. */
	| "live"
	/** Without questions: another terminal answers them. */
	| "unanswered"
	/** Without side effects either: it was written before we came, and all that it did was done then. */
	| "old";

/** Longer than any sequence whose end decides what becomes of it. Of a longer one, its beginning does. */
const MAX_SEQUENCE = 4096;

/** Sequences that do something beyond the screen. */
const EFFECTS: readonly RegExp[] = [
	// Notifications and the clipboard; files and whatever else iTerm can be told, but for pictures in the text.
	/^\u001b\](?:9|52|99|777|5522)[;\u0007\u001b]/,
	/^\u001b\]1337;(?!(?:Multipart)?File=[^:]*inline=1)/,
	// What tmux hands on to the terminal around it may be any of these.
	/^\u001bPtmux;/,
	// Windows that move, grow or vanish; lines above the screen that are thrown away.
	/^\u001b\[(?:[1-9]|10)(?:;[\d;]*)?t$/,
	/^\u001b\[3J$/,
];
/** Sequences about the printer: text between the second and the third goes there, and not to the screen. */
const PRINTING = /^\u001b\[\??[\d;]*i$/;
const PRINTER_ON = /^\u001b\[\??5i$/;
const BELL = "\u0007";

export class TerminalOutput {
	readonly modes: TerminalModes = new TerminalModes();
	/** The beginning of a sequence that is not complete yet, and whether it was shown. */
	#rest = "";
	#isRestShown = true;
	/** A string too long to be kept until its end, and whether it is shown. */
	#string: LongString | undefined;
	#isStringShown = false;
	#isPrinting = false;

	/** What to show of the next piece, which may be cut anywhere. */
	push(bytes: Uint8Array, manner: Manner): Uint8Array {
		const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
		const all = this.#rest + piece;
		if (manner !== "old") this.#isPrinting = false;
		// Most output has nothing of all this in it.
		if (!this.#string && !this.#isPrinting && !mayHaveSequences(all) && this.#rest === "" && isUtf8(bytes))
			return bytes;
		const shownBefore = this.#isRestShown ? this.#rest.length : 0;
		this.#rest = "";
		const isLive = manner === "live";
		const inString = this.#goOnWithString(all);
		const passed = all.length - inString.after.length;
		const shown = inString.shown + this.#take(inString.after, manner, shownBefore - passed);
		// Only what is filtered is held back: a live program's keystroke must not wait for the end of a sequence.
		this.#isRestShown = isLive || this.#rest === "";
		return Buffer.from((shown + (isLive ? this.#rest : "")).slice(shownBefore), "latin1");
	}

	/** What was held back when nothing more comes. */
	end(): Uint8Array {
		const held = this.#isRestShown ? "" : this.#rest;
		this.#rest = "";
		return Buffer.from(held, "latin1");
	}

	#goOnWithString(all: string): { readonly shown: string; readonly after: string } {
		if (!this.#string) return { shown: "", after: all };
		const { inside, end } = this.#string.read(all);
		const shownTo = (length: number) => (this.#isStringShown ? all.slice(0, length) : "");
		if (end === undefined) {
			this.#rest = all.slice(inside);
			return { shown: shownTo(inside), after: "" };
		}
		this.#string = undefined;
		return { shown: shownTo(inside + end), after: all.slice(inside + end) };
	}

	/** What to show of text with sequences in it; what was shown before can't be taken back. */
	#take(text: string, manner: Manner, shownBefore: number): string {
		let shown = "";
		let last = 0;
		for (const token of sequencesIn(text)) {
			shown += this.#plain(text.slice(last, token.index), manner);
			last = token.index + token.text.length;
			if (token.isFinished) {
				this.modes.see(token.meaning);
				const isKept = this.#isKept(token.meaning, manner);
				if (isKept || token.index < shownBefore) shown += token.text;
			} else if (token.text.length <= MAX_SEQUENCE) this.#rest = token.text;
			else shown += this.#beginString(token, manner);
		}
		return shown + this.#plain(text.slice(last), manner);
	}

	#beginString(token: Token, manner: Manner): string {
		this.#isStringShown = manner !== "old" || !EFFECTS.some((effect) => effect.test(token.meaning));
		// An endless CSI is none.
		this.#string = LongString.begun(token);
		this.#rest = cutOff(token.text);
		return this.#isStringShown ? token.text.slice(0, token.text.length - this.#rest.length) : "";
	}

	#isKept(sequence: string, manner: Manner): boolean {
		if (manner === "live") return true;
		if (isQuery(sequence)) return false;
		if (manner === "unanswered") return true;
		const wasPrinting = this.#isPrinting;
		if (PRINTING.test(sequence)) this.#isPrinting = PRINTER_ON.test(sequence);
		if (wasPrinting || PRINTING.test(sequence)) return false;
		return !EFFECTS.some((effect) => effect.test(sequence));
	}

	#plain(text: string, manner: Manner): string {
		if (manner !== "old") return text;
		return this.#isPrinting ? "" : text.replaceAll(BELL, "");
	}
}
