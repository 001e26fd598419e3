/**
 * Renders output as the lines that a terminal would show: a progress bar that redraws a hundred times is one line, in its
 * last state. A line is emitted when it leaves the screen and can't change any more.
 *
 * It handles carriage returns, erasing, cursor movement and overwriting. It does not emulate a terminal: lines do not
 * wrap, and each character takes one column.
 */

import { joined, SEQUENCE, textOf, UNFINISHED } from "../../words/visible-text.ts";

/** Longer lines, in UTF-16 units, are emitted in pieces, so that a file of one line takes little memory and time. */
export const LONGEST_LINE: number = 4 * 1024;
/** Rows that can still change; no real terminal has more. */
const MOST_ROWS = 200;
/** Longest incomplete escape sequence that is kept, in UTF-16 units. A longer one counts as text. */
const LONGEST_HELD = 8 * 1024;
const TAB = 8;

/** A line and the offset of its first byte. */
export type Line = { readonly text: string; readonly offset: number };

type TextScreenOptions = {
	/** Rows of the terminal. Lines further up can't change. */
	readonly rows: number;
	readonly onLine: (line: Line) => void;
	/** Called when a full-screen program switches to the alternate screen and back. */
	readonly onFullScreen: (isOn: boolean, offset: number) => void;
};

/** A string as written; single characters once it was edited. */
type Row = string | string[];

const TOKEN = new RegExp(`[^\\u0000-\\u001f\\u007f-\\u009f]+|${SEQUENCE.source}|[^]`, "g");
const PLAIN_LINE = /^[^\u0000-\u001f\u007f-\u009f]*\r?\n$/;
const CONTROL = /^[\u0000-\u001f\u007f-\u009f]/;
const NEWLINE = 0x0a;
const CSI = /^\u001b\[([?>=!]?)([\d;:]*)([@-~])$/;
const FULL_SCREEN_MODES: ReadonlySet<string> = new Set(["47", "1047", "1049"]);

export class LineRenderer {
	readonly #options: TextScreenOptions;
	readonly #mostRows: number;
	/** Lines on the screen, and the offset of each. */
	#rows: Row[] = [""];
	#offsets: number[];
	#row = 0;
	#column = 0;
	#offset: number;
	/** Bytes of an unfinished line, which may end within a character or an escape sequence. */
	#held: Uint8Array[] = [];
	#heldBytes = 0;

	constructor(offset: number, options: TextScreenOptions) {
		this.#offset = offset;
		this.#offsets = [offset];
		this.#options = options;
		this.#mostRows = Math.min(MOST_ROWS, options.rows);
	}

	/** Renders the next bytes of the output. */
	take(bytes: Uint8Array): void {
		let from = 0;
		for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
			this.#hold(bytes.subarray(from, at + 1));
			this.#writeHeld(false);
			from = at + 1;
		}
		if (from < bytes.byteLength) this.#hold(bytes.slice(from));
		if (this.#heldBytes > LONGEST_LINE + LONGEST_HELD) this.#writeHeld(false);
	}

	/** Emits the lines on the screen at the end of the output. */
	end(): void {
		this.#writeHeld(true);
		if (isEmpty(this.#rows.at(-1))) this.#rows.pop();
		this.#emit(this.#rows.length);
	}

	/** The text before the cursor, or the last line that is not empty. */
	lastLine(): string {
		this.#writeHeld(true);
		const current = toText(this.#rows[this.#row]).slice(0, this.#column).trim();
		return current || toText(this.#rows.findLast((row) => toText(row).trim() !== "")).trim();
	}

	#hold(bytes: Uint8Array): void {
		this.#held.push(bytes);
		this.#heldBytes += bytes.byteLength;
	}

	#writeHeld(isLast: boolean): void {
		const bytes = this.#held.length === 1 ? (this.#held[0] ?? new Uint8Array()) : joined(this.#held);
		const text = textOf(bytes);
		// An incomplete escape sequence or character waits for its rest.
		const unfinished = isLast || !text.includes("\u001b") ? null : UNFINISHED.exec(text.slice(-LONGEST_HELD));
		const ready = unfinished ? text.slice(0, -unfinished[0].length) : text;
		const isWhole = isLast || (!unfinished && text.endsWith("\n"));
		// Invalid bytes decode to characters that take more bytes.
		const length = isWhole ? bytes.byteLength : Math.min(Buffer.byteLength(ready), bytes.byteLength);
		this.#held = length < bytes.byteLength ? [bytes.slice(length)] : [];
		this.#heldBytes = bytes.byteLength - length;
		const begin = this.#offset;
		this.#offset += length;
		this.#write(ready, begin);
	}

	#write(text: string, begin: number): void {
		if (isEmpty(this.#rows[this.#row]) && text.length <= LONGEST_LINE && PLAIN_LINE.test(text)) {
			this.#rows[this.#row] = text.replace(/\r?\n$/, "");
			this.#newline(this.#offset);
			return;
		}
		let at = begin;
		for (const [token] of text.matchAll(TOKEN)) {
			at = Math.min(at + Buffer.byteLength(token), this.#offset);
			if (token.startsWith("\u001b") && token.length > 1) this.#sequence(token, at);
			else this.#control(token, at);
		}
	}

	#control(token: string, offset: number): void {
		switch (token) {
			case "\n":
				this.#newline(offset);
				break;
			case "\r":
				this.#column = 0;
				break;
			case "\b":
				this.#column = Math.max(0, this.#column - 1);
				break;
			case "\t":
				this.#put(" ".repeat(TAB - (this.#column % TAB)), offset);
				break;
			default:
				if (!CONTROL.test(token)) this.#put(token, offset);
		}
	}

	/** Overwrites existing characters. */
	#put(text: string, offset: number): void {
		if (isEmpty(this.#rows[this.#row]) && this.#column === 0 && text.length < LONGEST_LINE) {
			this.#rows[this.#row] = text;
			this.#column = text.length;
			return;
		}
		for (const character of text) {
			const cells = this.#cells();
			while (cells.length < this.#column) cells.push(" ");
			cells[this.#column++] = character;
			if (this.#column >= LONGEST_LINE) this.#newline(offset);
		}
	}

	/** The current row in editable form. */
	#cells(): string[] {
		const row = this.#rows[this.#row] ?? "";
		const cells = typeof row === "string" ? [...row] : row;
		this.#rows[this.#row] = cells;
		return cells;
	}

	#newline(offset: number): void {
		this.#column = 0;
		this.#row++;
		if (this.#row < this.#rows.length) return;
		this.#rows.push("");
		this.#offsets.push(offset);
		if (this.#rows.length > this.#mostRows) this.#emit(1);
	}

	#emit(count: number): void {
		const offsets = this.#offsets.splice(0, count);
		for (const [index, row] of this.#rows.splice(0, count).entries()) {
			this.#options.onLine({ text: toText(row).trimEnd(), offset: offsets[index] ?? this.#offset });
		}
		this.#row = Math.max(0, this.#row - count);
	}

	#sequence(token: string, offset: number): void {
		const [, mark, text = "", final] = CSI.exec(token) ?? [];
		if (final === undefined) return;
		if (mark === "?" && (final === "h" || final === "l")) {
			if (text.split(";").some((mode) => FULL_SCREEN_MODES.has(mode))) this.#switch(final === "h", offset);
			return;
		}
		if (mark !== "") return;
		const [first = 0, second = 0] = text.split(/[;:]/).map(Number);
		const count = Math.min(Math.max(1, first), LONGEST_LINE);
		switch (final) {
			case "J":
				this.#eraseScreen(first, offset);
				break;
			case "K":
				this.#eraseLine(first);
				break;
			case "P":
				this.#cells().splice(this.#column, count);
				break;
			case "X":
				this.#cells().fill(" ", this.#column, this.#column + count);
				break;
			case "@":
				this.#cells().splice(this.#column, 0, ...Array<string>(count).fill(" "));
				this.#cells().length = Math.min(this.#cells().length, LONGEST_LINE);
				break;
			default:
				this.#moveTo(...this.#destination(final, count, Math.max(1, second)), offset);
		}
	}

	/** The position after a cursor sequence; the current one for other sequences. */
	#destination(final: string, count: number, second: number): [row: number, column: number] {
		switch (final) {
			case "A":
				return [this.#row - count, this.#column];
			case "B":
				return [this.#row + count, this.#column];
			case "C":
				return [this.#row, this.#column + count];
			case "D":
				return [this.#row, this.#column - count];
			case "E":
				return [this.#row + count, 0];
			case "F":
				return [this.#row - count, 0];
			case "G":
				return [this.#row, count - 1];
			case "H":
			case "f":
				return [count - 1, second - 1];
			case "d":
				return [count - 1, this.#column];
			default:
				return [this.#row, this.#column];
		}
	}

	/** Row 0 is the top of the screen as far as known: the first row that was not emitted. */
	#moveTo(row: number, column: number, offset: number): void {
		this.#row = Math.min(Math.max(0, row), this.#mostRows - 1);
		this.#column = Math.min(Math.max(0, column), LONGEST_LINE - 1);
		while (this.#rows.length <= this.#row) {
			this.#rows.push("");
			this.#offsets.push(offset);
		}
	}

	#eraseLine(how: number): void {
		if (how === 0) this.#cells().length = Math.min(this.#cells().length, this.#column);
		else if (how === 1) this.#cells().fill(" ", 0, this.#column + 1);
		else this.#rows[this.#row] = "";
	}

	/** Erases from the cursor on. When the whole screen is cleared, its lines were visible and are emitted. */
	#eraseScreen(how: number, offset: number): void {
		if (how === 0 && (this.#row > 0 || this.#column > 0)) {
			this.#eraseLine(0);
			this.#rows.length = this.#row + 1;
			this.#offsets.length = this.#row + 1;
		} else if (how === 0 || how === 2) {
			this.#clear(offset);
		}
	}

	#switch(isOn: boolean, offset: number): void {
		this.#clear(offset);
		this.#options.onFullScreen(isOn, offset);
	}

	#clear(offset: number): void {
		while (this.#rows.length > 0 && toText(this.#rows.at(-1)).trim() === "") this.#rows.pop();
		this.#emit(this.#rows.length);
		this.#rows = [""];
		this.#offsets = [offset];
		this.#row = 0;
		this.#column = 0;
	}
}

function toText(row: Row | undefined): string {
	return typeof row === "string" ? row : (row?.join("") ?? "");
}

function isEmpty(row: Row | undefined): boolean {
	return row === undefined || row.length === 0;
}
