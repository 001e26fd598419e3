/** A program's output on its way to our own terminal: shown as it is, noted, and without what it may not do there. */

import { TerminalModes } from "./terminal-modes.ts";

/** How a piece is shown. */
export type Manner =
	/** As it is. */
	| "live"
	/** Without questions: another terminal answers them. */
	| "unanswered"
	/** Without side effects either: it was written before we came, and all that it did was done then. */
	| "old";

/** The inside of a string such as a title, and that of what tmux hands on, in which every escape is doubled. */
const STRING = "[^\\u0007\\u0018\\u001a\\u001b]*";
const PASSED_ON = "[^\\u001b]*(?:\\u001b\\u001b[^\\u001b]*)*";

/** CSI; strings up to their end, which any other sequence is as well; the short ones; and ENQ, which asks for an answer all by itself. */
const SEQUENCE = new RegExp(
	[
		"\\u001b\\[[0-?]*[ -/]*[@-~]",
		`\\u001bPtmux;${PASSED_ON}\\u001b\\\\`,
		`\\u001b[\\]PX^_]${STRING}(?:[\\u0007\\u0018\\u001a]|\\u001b\\\\|(?=\\u001b[^\\\\]))`,
		"\\u001b[ -/]*[0-OQ-WYZ\\\\`-~]",
		"\\u0005",
	].join("|"),
	"g",
);
/** What may be the beginning of one, at the end of a piece. */
const UNFINISHED = new RegExp(
	`\\u001b(?:\\[[0-?]*[ -/]*|Ptmux;${PASSED_ON}\\u001b?|[\\]PX^_]${STRING}\\u001b?|[ -/]*)?$`,
);
/** Longer than any sequence whose end decides what becomes of it. Of a longer one, its beginning does. */
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
	/^\u001b\][\d;]*[^\u0007\u001b]*;\?(?:;|\u0007|\u001b|$)/,
	/^\u001bP[$+]q/,
	/^\u001b_G[^;]*a=q/,
];

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

/** A string too long to be kept until its end. */
type LongString = { readonly inside: RegExp; readonly isShown: boolean };

export class TerminalOutput {
	readonly modes: TerminalModes = new TerminalModes();
	/** The beginning of a sequence that is not complete yet, and whether it was shown. */
	#rest = "";
	#isRestShown = true;
	#string: LongString | undefined;
	#isPrinting = false;

	/** What to show of the next piece, which may be cut anywhere. */
	push(bytes: Uint8Array, manner: Manner): Uint8Array {
		const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
		const all = this.#rest + piece;
		if (manner !== "old") this.#isPrinting = false;
		// Most output has nothing of all this in it.
		if (!this.#string && !this.#isPrinting && !/[\u001b\u0005\u0007]/.test(all)) return bytes;
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
		const { inside, isShown } = this.#string;
		const [content = ""] = inside.exec(all) ?? [];
		const after = all.slice(content.length);
		if (after === "" || after === "\u001b") {
			this.#rest = after;
			return { shown: isShown ? content : "", after: "" };
		}
		this.#string = undefined;
		const [end = ""] = /^(?:[\u0007\u0018\u001a]|\u001b\\)/.exec(after) ?? [];
		return { shown: isShown ? content + end : "", after: after.slice(end.length) };
	}

	/** What to show of text with sequences in it; what was shown before can't be taken back. */
	#take(text: string, manner: Manner, shownBefore: number): string {
		const unfinished = UNFINISHED.exec(text)?.[0] ?? "";
		const ready = text.slice(0, text.length - unfinished.length);
		let shown = "";
		let last = 0;
		for (const match of ready.matchAll(SEQUENCE)) {
			const [sequence] = match;
			shown += this.#plain(ready.slice(last, match.index), manner);
			this.modes.see(sequence);
			const isKept = this.#isKept(sequence, manner);
			if (isKept || match.index < shownBefore) shown += sequence;
			last = match.index + sequence.length;
		}
		shown += this.#plain(ready.slice(last), manner);
		if (unfinished.length <= MAX_SEQUENCE) {
			if (unfinished !== "") this.#rest = unfinished;
			return shown;
		}
		return shown + this.#beginString(unfinished, manner);
	}

	#beginString(unfinished: string, manner: Manner): string {
		const isShown = manner !== "old" || !EFFECTS.some((effect) => effect.test(unfinished));
		const inside = new RegExp(`^${unfinished.startsWith("\u001bPtmux;") ? PASSED_ON : STRING}`);
		// An endless CSI is none.
		if (/^\u001b[\]PX^_]/.test(unfinished)) this.#string = { inside, isShown };
		this.#rest = unfinished.endsWith("\u001b") ? "\u001b" : "";
		return isShown ? unfinished.slice(0, unfinished.length - this.#rest.length) : "";
	}

	#isKept(sequence: string, manner: Manner): boolean {
		if (manner === "live") return true;
		if (QUESTIONS.some((question) => question.test(sequence))) return false;
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
