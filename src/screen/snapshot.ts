/**
 * A screen as escape sequences, which make a terminal of the same size show it whatever that showed before.
 *
 * Rows are written one under the other from the top, so that those which were scrolled away scroll away again; a row
 * that went on in the next one by itself does so again, for a terminal that is resized later puts them together. Cells
 * that were erased are not blanks that were written: they are left out or erased.
 */

import type { Extras } from "./extras.ts";
import type { Attributes, Charset, Inside, Line, ScreenBuffer } from "./inside.ts";
import { isErased, type Pen, PLAIN, penOf } from "./pen.ts";

/** Longer links are left out, as terminals do. */
const MAX_LINK_LENGTH = 2_083;
/** Of a title and of one cell, which may have any number of accents. */
const MAX_TITLE_LENGTH = 1_024;
const MAX_CELL_LENGTH = 64;
/** Takes two columns everywhere. */
const WIDE = "界";

type SnapshotParts = {
	readonly inside: Inside;
	readonly size: { readonly cols: number; readonly rows: number };
	readonly newlineMode: boolean;
	readonly cursorBlink: boolean;
	readonly extras: Extras;
	/** What a charset is called. */
	readonly charsetName: (charset: Charset | undefined) => string;
	/** The bytes of what is not whole yet. */
	readonly pending: Uint8Array;
	readonly scrollback: number;
};

/** Everything back to what it is at first, in terminals that do not agree on what a reset does. */
const RESET = [
	"\x1b[?1049l\x1b[!p\x1b[r",
	"\x1b[?1;6;9;12;45;66;1000;1002;1003;1004;1006;1016;2004;2026l\x1b[?7;25h\x1b[4;20l\x1b>",
	"\x1b[0 q\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\",
	'\x1b[0m\x1b[0"q\x1b[H\x1b[2J',
].join("");

const SAVE = "\x1b7";
const MOUSE_PROTOCOLS: Readonly<Record<string, string>> = {
	X10: "\x1b[?9h",
	VT200: "\x1b[?1000h",
	DRAG: "\x1b[?1002h",
	ANY: "\x1b[?1003h",
};
const MOUSE_ENCODINGS: Readonly<Record<string, string>> = { SGR: "\x1b[?1006h", SGR_PIXELS: "\x1b[?1016h" };
const CURSOR_STYLES = { block: 2, underline: 4, bar: 6 } as const;
const SHIFTS: readonly string[] = ["\x0f", "\x0e", "\x1bn", "\x1bo"];
const DESIGNATIONS: readonly string[] = ["(", ")", "*", "+"];

export function snapshotOf(parts: SnapshotParts): Uint8Array {
	const { inside, extras, pending, scrollback } = parts;
	const { normal, alt, active } = inside.buffers;
	const drawing = new Drawing(parts);
	drawing.add(RESET);
	drawing.drawBuffer(normal, scrollback);
	drawing.setTabs(normal);
	drawing.add(extras.restoringKeys("normal"));
	if (active === alt) drawing.setMargins(normal);
	// What leaves the alternate screen takes the cursor back from there.
	drawing.saveCursor(normal, active === alt ? "\x1b[?1049h" : SAVE);
	if (active === alt) {
		drawing.add(`${extras.restoringKeys("alternate")}\x1b[!p\x1b[0m\x1b[H\x1b[2J`);
		drawing.forget();
		drawing.drawBuffer(alt, 0);
		drawing.setTabs(alt, normal);
		drawing.saveCursor(alt, SAVE);
	}
	drawing.add(titles(inside), extras.restoring());
	drawing.finish(active);
	return joined(drawing.text, pending);
}

function joined(text: string, pending: Uint8Array): Uint8Array {
	const bytes = new TextEncoder().encode(text);
	const whole = new Uint8Array(bytes.byteLength + pending.byteLength);
	whole.set(bytes);
	whole.set(pending, bytes.byteLength);
	return whole;
}

function titles({ _inputHandler: { _windowTitle, _windowTitleStack } }: Inside): string {
	const stacked = _windowTitleStack.map((title) => `${titled(title)}\x1b[22;2t`);
	if (stacked.length === 0 && _windowTitle === "") return "";
	return `${stacked.join("")}${titled(_windowTitle)}`;
}

function titled(title: string): string {
	return `\x1b]2;${harmless(title.slice(0, MAX_TITLE_LENGTH))}\x1b\\`;
}

/** None of it has control characters to begin with; that nothing in a snapshot can is not left to an emulator. */
function harmless(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
}

/** Writes rows; knows where the terminal's cursor is and which pen it has. */
class Drawing {
	text = "";
	readonly #inside: Inside;
	readonly #parts: SnapshotParts;
	readonly #cols: number;
	readonly #rows: number;
	#pen: Pen | undefined = penOf(PLAIN);
	/** Where the next character goes, if that is known. */
	#at: { row: number; col: number } | undefined;
	/** The link that text belongs to, as its sequence has it. */
	#linked = ";";
	/** The last character, which the next one could be taken to belong to. */
	#last = "";

	constructor(parts: SnapshotParts) {
		this.#parts = parts;
		this.#inside = parts.inside;
		this.#cols = parts.size.cols;
		this.#rows = parts.size.rows;
	}

	add(...sequences: string[]): void {
		this.text += sequences.join("");
		this.#last = "";
	}

	/** The pen and the place are not known any more. */
	forget(): void {
		this.#pen = undefined;
		this.#at = undefined;
	}

	drawBuffer(buffer: ScreenBuffer, scrollback: number): void {
		const first = Math.max(0, buffer.ybase - scrollback);
		const end = Math.min(buffer.lines.length, buffer.ybase + this.#rows);
		for (let index = first; index < end; index++) {
			const line = buffer.lines.get(index);
			if (!line) continue;
			const row = Math.min(index - first, this.#rows - 1);
			if (index === first) this.#beginFirst(line);
			else this.#begin(line, buffer.lines.get(index - 1), row, index - first >= this.#rows);
			this.#drawLine(line, row, buffer.lines.get(index + 1)?.isWrapped === true && index + 1 < end);
		}
	}

	setTabs(buffer: ScreenBuffer, known?: ScreenBuffer): void {
		const stops = (of: ScreenBuffer) =>
			Array.from({ length: this.#cols }, (_, col) => col).filter((col) => of.tabs[col]);
		if (known && stops(known).join() === stops(buffer).join()) return;
		this.add("\x1b[3g", ...stops(buffer).map((col) => `\x1b[${col + 1}G\x1bH`));
		this.#at = undefined;
	}

	saveCursor({ savedX, savedY, ybase, savedCurAttrData, savedCharset }: ScreenBuffer, sequence: string): void {
		const { fg, bg } = savedCurAttrData;
		const isSaved = savedX !== 0 || savedY !== 0 || fg !== 0 || bg !== 0 || savedCharset !== undefined;
		// As it is after a reset.
		if (!isSaved && sequence === SAVE) return;
		const row = Math.min(Math.max(savedY - ybase, 0), this.#rows - 1);
		const charset = this.#parts.charsetName(savedCharset);
		const isShifted = charset !== "B";
		this.#move(row, Math.min(savedX, this.#cols - 1));
		// Which kind of line is under text is not saved: it stays what it is.
		this.#take(penOf({ ...savedCurAttrData, extended: this.#inside._inputHandler._curAttrData.extended }));
		this.add(isShifted ? `\x1b(${charset}` : "", sequence, isShifted ? "\x1b(B" : "");
	}

	setMargins({ scrollTop, scrollBottom }: ScreenBuffer): void {
		if (scrollTop === 0 && scrollBottom === this.#rows - 1) return;
		this.add(`\x1b[${scrollTop + 1};${scrollBottom + 1}r`);
		this.#at = undefined;
	}

	/** Everything that changes what the sequences before would do, and last of all the cursor. */
	finish(buffer: ScreenBuffer): void {
		const { coreService, _inputHandler: handler, _charsetService: charsets } = this.#inside;
		const { modes, decPrivateModes: dec } = coreService;
		this.setMargins(buffer);
		this.add(this.#modes());
		const line = buffer.lines.get(buffer.ybase + buffer.y);
		// What had no room at the edge, and was left out, does not count.
		const isJoining = handler._parser.precedingJoinState !== 0 && line !== undefined && !isNull(line, buffer.x - 1);
		const isRestored = charsets.charset !== charsets._charsets[charsets.glevel];
		// After a character that the charsets would change, unless the next one may belong to it.
		const setCharsets = () => this.add(this.#charsets(), isRestored ? "\x1b8" : "");
		if (isJoining || isRestored) setCharsets();
		const current = penOf(handler._curAttrData, { isCurrent: true });
		const top = dec.origin ? buffer.scrollTop : 0;
		const row = Math.max(0, buffer.y - top);
		this.forget();
		if (isJoining) {
			// It was written with the pen as it is.
			this.#repeat(line, { row, x: buffer.x, pen: current, isInserting: modes.insertMode });
			return;
		}
		if (line && buffer.x >= this.#cols) {
			this.#repeat(line, { row, x: buffer.x, isInserting: modes.insertMode });
		} else this.#move(row, buffer.x);
		// Also if it has it already: nothing that follows belongs to what was written last.
		this.#pen = undefined;
		this.#take(current);
		if (!isRestored) setCharsets();
	}

	#modes(): string {
		const { coreService, coreMouseService: mouse } = this.#inside;
		const { modes, decPrivateModes: dec, isCursorHidden } = coreService;
		const style = dec.cursorStyle === undefined ? 0 : CURSOR_STYLES[dec.cursorStyle] - (dec.cursorBlink ? 1 : 0);
		return [
			modes.insertMode ? "\x1b[4h" : "",
			this.#parts.newlineMode ? "\x1b[20h" : "",
			dec.applicationCursorKeys ? "\x1b[?1h" : "",
			dec.origin ? "\x1b[?6h" : "",
			dec.wraparound ? "" : "\x1b[?7l",
			this.#parts.cursorBlink ? "\x1b[?12h" : "",
			dec.reverseWraparound ? "\x1b[?45h" : "",
			dec.applicationKeypad ? "\x1b=" : "",
			MOUSE_PROTOCOLS[mouse.activeProtocol] ?? "",
			MOUSE_ENCODINGS[mouse.activeEncoding] ?? "",
			dec.sendFocus ? "\x1b[?1004h" : "",
			dec.bracketedPasteMode ? "\x1b[?2004h" : "",
			dec.synchronizedOutput ? "\x1b[?2026h" : "",
			isCursorHidden ? "\x1b[?25l" : "",
			style === 0 ? "" : `\x1b[${style} q`,
		].join("");
	}

	#charsets(): string {
		const { _charsets, glevel } = this.#inside._charsetService;
		const names = DESIGNATIONS.map((_, level) => this.#parts.charsetName(_charsets[level]));
		const designated = names.map((name, level) => (name === "B" ? "" : `\x1b${DESIGNATIONS[level]}${name}`));
		return `${designated.join("")}${glevel === 0 ? "" : (SHIFTS[glevel] ?? "")}`;
	}

	/** What comes before the first row is not there; that it went on from there is so all the same. */
	#beginFirst(line: Line): void {
		if (!line.isWrapped || this.#rows === 1) return;
		this.add(`\x1b[1;${this.#cols}H  \x1b[1;1H\x1b[M\x1b[${this.#cols}X`);
		this.#at = { row: 0, col: 0 };
	}

	#begin(line: Line, before: Line | undefined, row: number, isScrolling: boolean): void {
		if (line.isWrapped && before) this.#wrap(before, isScrolling ? row : row - 1);
		else if (isScrolling) {
			this.#take(penOf(PLAIN));
			this.#move(this.#rows - 1, 0);
			this.add("\n");
		}
		if (!line.isWrapped) return;
		this.#take(penOf(PLAIN));
		this.add(`\r\x1b[${this.#cols}X`);
		this.#at = { row, col: 0 };
	}

	/** Goes on in the next row as a character does that has no room. */
	#wrap(before: Line, row: number): void {
		const last = this.#cols - 1;
		const attributes = attributesAt(before, last);
		if (isNull(before, last)) {
			// As before a wide character: the last column stays empty.
			this.#move(row, last);
			this.#take(penOf(attributes));
			this.add(WIDE);
			return;
		}
		const start = before.getWidth(last) === 0 ? last - 1 : last;
		this.#move(row, start);
		this.#take(penOf(attributesAt(before, start)));
		this.#write(textAt(before, start, this.#cols));
		this.#take(penOf(PLAIN));
		this.add(" ");
	}

	#drawLine(line: Line, row: number, isContinued: boolean): void {
		for (let col = 0; col < this.#cols; ) {
			if (!isNull(line, col)) col += this.#drawCharacter(line, row, col);
			else col += this.#drawEmpty(line, row, col, isContinued);
		}
	}

	#drawCharacter(line: Line, row: number, col: number): number {
		const text = textAt(line, col, this.#cols);
		const width = Math.max(1, col + line.getWidth(col) > this.#cols ? 1 : line.getWidth(col));
		if (mayJoin(this.#last, text)) this.#at = undefined;
		this.#move(row, col);
		this.#take(penOf(attributesAt(line, col)));
		this.#write(text);
		this.#at = col + width < this.#cols ? { row, col: col + width } : undefined;
		return width;
	}

	/** Cells in which nothing is; returns how many. */
	#drawEmpty(line: Line, row: number, col: number, isContinued: boolean): number {
		const attributes = attributesAt(line, col);
		if (!isErased(attributes)) {
			this.#drawBroken(attributes, row, col, isContinued);
			return 1;
		}
		let end = col + 1;
		while (end < this.#cols && isNull(line, end) && line.getFg(end) === 0 && line.getBg(end) === attributes.bg) end++;
		if (attributes.bg !== 0) {
			this.#move(row, col);
			this.#take(penOf(attributes));
			this.add(`\x1b[${end - col}X`);
		}
		return end - col;
	}

	/** Half of a wide character over which something was written: empty, but with all that its pen had. */
	#drawBroken(attributes: Attributes, row: number, col: number, isContinued: boolean): void {
		if (col === this.#cols - 1) {
			// A wide character that has no room leaves one: it is written again where the next row begins. Others are blanks.
			if (isContinued) return;
			this.#move(row, col);
			this.#take(penOf(attributes));
			this.#write(" ");
			this.#at = undefined;
			return;
		}
		const beside = `\x1b[${row + 1};${col + 2}H`;
		this.#move(row, col);
		this.#take(penOf(attributes));
		this.add(`${WIDE}${beside} ${beside}`);
		this.#take(penOf(PLAIN));
		this.add("\x1b[X");
		this.#at = { row, col: col + 1 };
	}

	/** Writes the character before the cursor once more, as whatever comes next may belong to it or begin a new row. */
	#repeat(line: Line, { row, x, pen, isInserting }: { row: number; x: number; pen?: Pen; isInserting: boolean }): void {
		const start = Math.max(0, line.getWidth(x - 1) === 0 ? x - 2 : x - 1);
		this.#move(row, start);
		if (isInserting) this.add(`\x1b[${x - start}P`);
		this.#take(pen ?? penOf(attributesAt(line, start)));
		this.#write(isNull(line, start) ? " " : textAt(line, start, this.#cols));
		// A row that was erased under a cursor at its edge; of one that was erased in part, the last cell is a blank.
		if (this.#isErased(line)) this.add("\x1b[1K");
	}

	#isErased(line: Line): boolean {
		const isSame = (col: number) => isNull(line, col) && line.getFg(col) === 0 && line.getBg(col) === line.getBg(0);
		return isErased(attributesAt(line, 0)) && Array.from({ length: this.#cols }, (_, col) => col).every(isSame);
	}

	#move(row: number, col: number): void {
		if (this.#at?.row === row && this.#at.col === col) return;
		this.add(`\x1b[${row + 1};${col + 1}H`);
		this.#at = { row, col };
	}

	#take(pen: Pen): void {
		const before = this.#pen;
		if (pen.sgr !== before?.sgr || pen.isProtected !== before.isProtected) {
			// In some terminals the reset of all attributes ends protection, in others it does not.
			const hasProtection = pen.isProtected || (before?.isProtected ?? true);
			this.add(pen.sgr, hasProtection ? `\x1b[${pen.isProtected ? 1 : 0}"q` : "");
		}
		this.#link(pen.link);
		this.#pen = pen;
	}

	#link(id: number): void {
		const data = id === 0 ? undefined : this.#inside._oscLinkService.getLinkData(id);
		const isTold = data && data.uri.length + (data.id?.length ?? 0) <= MAX_LINK_LENGTH;
		const told = isTold ? `${data.id === undefined ? "" : `id=${harmless(data.id)}`};${harmless(data.uri)}` : ";";
		if (told === this.#linked) return;
		this.#linked = told;
		this.add(`\x1b]8;${told}\x1b\\`);
	}

	#write(text: string): void {
		this.text += text;
		this.#last = text;
	}
}

function attributesAt(line: Line, col: number): Attributes {
	return {
		fg: line.getFg(col),
		bg: line.getBg(col),
		extended: line._extendedAttrs[col] ?? PLAIN.extended,
	};
}

/** Nothing was written there, or half of what was is gone. */
function isNull(line: Line, col: number): boolean {
	return line.getWidth(col) === 1 && line.getString(col) === "";
}

/** A wide character that was cut by the edge is a blank. */
function textAt(line: Line, col: number, cols: number): string {
	const text = line.getString(col).slice(0, MAX_CELL_LENGTH);
	return text === "" || col + line.getWidth(col) > cols ? " " : harmless(text);
}

/** Letters, lines and ideographs, which never are a part of the character before them. */
const ALONE = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u2500-\u25a9\u3400-\u9fff\uac00-\ud7a3]*$/;

function mayJoin(before: string, text: string): boolean {
	return before !== "" && !(ALONE.test(before) && ALONE.test(text));
}
