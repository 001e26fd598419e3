/** Filters a program's output for the local terminal, and records its modes. */

import { isUtf8 } from "node:buffer";
import { isQuery } from "../../core/terminal/queries.ts";
import { incompleteTail, LongString, mayHaveSequences, sequencesIn, type Token } from "./escape-sequences.ts";
import { TerminalModes } from "./modes.ts";
import { StatusMirror } from "./program-status.ts";

/** How a chunk of output is filtered. */
export type OutputMode =
	/** Unchanged. */
	| "live"
	/** Without queries, because another terminal answers them. */
	| "no-queries"
	/** Without queries and side effects: a replay of earlier output. */
	| "replay";

/** Longer than any sequence whose effect its end decides. For a longer one, the start decides. */
const MAX_SEQUENCE = 4096;

/** Sequences with effects beyond the screen. */
const EFFECTS: readonly RegExp[] = [
	// Notifications, the clipboard, files and other iTerm commands, except inline images.
	/^\u001b\](?:9|52|99|777|5522|7501)[;\u0007\u001b]/,
	/^\u001b\]1337;(?!(?:Multipart)?File=[^:]*inline=1)/,
	// tmux passthrough may contain any of these.
	/^\u001bPtmux;/,
	// Window operations, and clearing the scrollback.
	/^\u001b\[(?:[1-9]|10)(?:;[\d;]*)?t$/,
	/^\u001b\[3J$/,
];
/** Printer control: text between on and off goes to the printer, not to the screen. */
const PRINTING = /^\u001b\[\??[\d;]*i$/;
const PRINTER_ON = /^\u001b\[\??5i$/;
const BELL = "\u0007";

export class OutputFilter {
	readonly modes: TerminalModes = new TerminalModes();
	readonly status: StatusMirror = new StatusMirror();
	/** The start of an incomplete sequence, and whether it was passed on. */
	#rest = "";
	#isRestShown = true;
	/** A string too long to buffer, and whether it is passed on. */
	#string: LongString | undefined;
	#isStringShown = false;
	#isPrinting = false;

	/** Filters the next chunk, which may start or end anywhere. */
	push(bytes: Uint8Array, mode: OutputMode): Uint8Array {
		const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
		const all = this.#rest + piece;
		if (mode !== "replay") this.#isPrinting = false;
		// Fast path: most output has no sequences.
		if (!this.#string && !this.#isPrinting && !mayHaveSequences(all) && this.#rest === "" && isUtf8(bytes))
			return bytes;
		const shownBefore = this.#isRestShown ? this.#rest.length : 0;
		this.#rest = "";
		const isLive = mode === "live";
		const inString = this.#goOnWithString(all);
		const passed = all.length - inString.after.length;
		const shown = inString.shown + this.#take(inString.after, mode, shownBefore - passed);
		// Live output is never held back: a key press must not wait for the end of a sequence.
		this.#isRestShown = isLive || this.#rest === "";
		return Buffer.from((shown + (isLive ? this.#rest : "")).slice(shownBefore), "latin1");
	}

	/** The text held back at the end of the output. */
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

	/** Filters text with sequences. Text already passed on can't be withdrawn. */
	#take(text: string, mode: OutputMode, shownBefore: number): string {
		let shown = "";
		let last = 0;
		for (const token of sequencesIn(text)) {
			shown += this.#plain(text.slice(last, token.index), mode);
			last = token.index + token.text.length;
			if (token.isFinished) {
				this.modes.observe(token.meaning);
				this.status.observe(token.meaning);
				const isKept = this.#isKept(token.meaning, mode);
				if (isKept || token.index < shownBefore) shown += token.text;
			} else if (token.text.length <= MAX_SEQUENCE) this.#rest = token.text;
			else shown += this.#beginString(token, mode);
		}
		return shown + this.#plain(text.slice(last), mode);
	}

	#beginString(token: Token, mode: OutputMode): string {
		this.#isStringShown = mode !== "replay" || !EFFECTS.some((effect) => effect.test(token.meaning));
		// Undefined for a CSI without an end.
		this.#string = LongString.start(token);
		this.#rest = incompleteTail(token.text);
		return this.#isStringShown ? token.text.slice(0, token.text.length - this.#rest.length) : "";
	}

	#isKept(sequence: string, mode: OutputMode): boolean {
		if (mode === "live") return true;
		if (isQuery(sequence)) return false;
		if (mode === "no-queries") return true;
		const wasPrinting = this.#isPrinting;
		if (PRINTING.test(sequence)) this.#isPrinting = PRINTER_ON.test(sequence);
		if (wasPrinting || PRINTING.test(sequence)) return false;
		return !EFFECTS.some((effect) => effect.test(sequence));
	}

	#plain(text: string, mode: OutputMode): string {
		if (mode !== "replay") return text;
		return this.#isPrinting ? "" : text.replaceAll(BELL, "");
	}
}
