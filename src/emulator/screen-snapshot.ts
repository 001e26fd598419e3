/**
 * Converts a screen to escape sequences that draw it on a terminal of the same size, whatever that showed before.
 *
 * Rows are written from top to bottom, so that scrollback scrolls away again. A wrapped row is wrapped again, because a
 * later resize joins it. Erased cells are not the same as written blanks: they are skipped or erased.
 */

import { isErased, type Pen, PLAIN, penOf } from "./pen.ts";
import type { TerminalSettings } from "./terminal-settings.ts";
import type { Attributes, Charset, Line, ScreenBuffer, XtermInternals } from "./xterm-internals.ts";

/** Longer links are dropped, as terminals do. */
const MAX_LINK_LENGTH = 2_083;
/** Limits for a title, and for one cell with its combining characters. */
const MAX_TITLE_LENGTH = 1_024;
const MAX_CELL_LENGTH = 64;
/** Two columns wide on every terminal. */
const WIDE = "界";

type SnapshotParts = {
	readonly inside: XtermInternals;
	readonly size: { readonly cols: number; readonly rows: number };
	readonly newlineMode: boolean;
	readonly cursorBlink: boolean;
	readonly extras: TerminalSettings;
	/** The designator of a charset. */
	readonly charsetName: (charset: Charset | undefined) => string;
	/** Incomplete input at the end. */
	readonly pending: Uint8Array;
	readonly scrollback: number;
};

/** Resets everything, on terminals that differ in what a reset does. */
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
	// Leaving the alternate screen restores the cursor saved here.
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

function titles({ _inputHandler: { _windowTitle, _windowTitleStack } }: XtermInternals): string {
	const stacked = _windowTitleStack.map((title) => `${titled(title)}\x1b[22;2t`);
	if (stacked.length === 0 && _windowTitle === "") return "";
	return `${stacked.join("")}${titled(_windowTitle)}`;
}

function titled(title: string): string {
	return `\x1b]2;${harmless(title.slice(0, MAX_TITLE_LENGTH))}\x1b\\`;
}

/** Replaces control characters. There should be none, but a snapshot must not rely on the emulator for that. */
function harmless(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
}

/** Writes rows, and tracks the cursor and the pen of the terminal. */
class Drawing {
	text = "";
	readonly #inside: XtermInternals;
	readonly #parts: SnapshotParts;
	readonly #cols: number;
	readonly #rows: number;
	#pen: Pen | undefined = penOf(PLAIN);
	/** Position of the next character, if known. */
	#at: { row: number; col: number } | undefined;
	/** The current link, as in its sequence. */
	#linked = ";";
	/** The last character, which the next one might combine with. */
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

	/** Pen and position are unknown from here on. */
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
		// As after a reset.
		if (!isSaved && sequence === SAVE) return;
		const row = Math.min(Math.max(savedY - ybase, 0), this.#rows - 1);
		const charset = this.#parts.charsetName(savedCharset);
		const isShifted = charset !== "B";
		this.#move(row, Math.min(savedX, this.#cols - 1));
		// The underline style is not saved, so it stays.
		this.#take(penOf({ ...savedCurAttrData, extended: this.#inside._inputHandler._curAttrData.extended }));
		this.add(isShifted ? `\x1b(${charset}` : "", sequence, isShifted ? "\x1b(B" : "");
	}

	setMargins({ scrollTop, scrollBottom }: ScreenBuffer): void {
		if (scrollTop === 0 && scrollBottom === this.#rows - 1) return;
		this.add(`\x1b[${scrollTop + 1};${scrollBottom + 1}r`);
		this.#at = undefined;
	}

	/** Adds everything that would affect earlier sequences, and finally the cursor. */
	finish(buffer: ScreenBuffer): void {
		const { coreService, _inputHandler: handler, _charsetService: charsets } = this.#inside;
		const { modes, decPrivateModes: dec } = coreService;
		this.setMargins(buffer);
		this.add(this.#modes());
		const line = buffer.lines.get(buffer.ybase + buffer.y);
		// A wide character that did not fit at the edge does not count.
		const isJoining = handler._parser.precedingJoinState !== 0 && line !== undefined && !isNull(line, buffer.x - 1);
		const isRestored = charsets.charset !== charsets._charsets[charsets.glevel];
		// After a character that the charsets would change, unless the next one may combine with it.
		const setCharsets = () => this.add(this.#charsets(), isRestored ? "\x1b8" : "");
		if (isJoining || isRestored) setCharsets();
		const current = penOf(handler._curAttrData, { isCurrent: true });
		const top = dec.origin ? buffer.scrollTop : 0;
		const row = Math.max(0, buffer.y - top);
		this.forget();
		if (isJoining) {
			// It was written with the current pen.
			this.#repeat(line, { row, x: buffer.x, pen: current, isInserting: modes.insertMode });
			return;
		}
		if (line && buffer.x >= this.#cols) {
			this.#repeat(line, { row, x: buffer.x, isInserting: modes.insertMode });
		} else this.#move(row, buffer.x);
		// Set the pen even if it is equal: then nothing that follows combines with the last character.
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

	/** The row before the first one is gone, but the first must still count as wrapped. */
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

	/** Wraps to the next row, as a character without room does. */
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

	/** Draws empty cells; returns their number. */
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

	/** Half of an overwritten wide character: empty, but with its pen's attributes. */
	#drawBroken(attributes: Attributes, row: number, col: number, isContinued: boolean): void {
		if (col === this.#cols - 1) {
			// A wide character without room leaves one. It is written again at the start of the next row. Others are blanks.
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

	/** Writes the character before the cursor again, because the next one may combine with it or wrap. */
	#repeat(line: Line, { row, x, pen, isInserting }: { row: number; x: number; pen?: Pen; isInserting: boolean }): void {
		const start = Math.max(0, line.getWidth(x - 1) === 0 ? x - 2 : x - 1);
		this.#move(row, start);
		if (isInserting) this.add(`\x1b[${x - start}P`);
		this.#take(pen ?? penOf(attributesAt(line, start)));
		this.#write(isNull(line, start) ? " " : textAt(line, start, this.#cols));
		// The row was erased under a cursor at its edge. In a partly erased row the last cell is a blank.
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
			// On some terminals a reset of all attributes ends protection, on others not.
			const hasProtection = pen.isProtected || (before?.isProtected ?? true);
			this.add(pen.sgr, hasProtection ? `\x1b[${pen.isProtected ? 1 : 0}"q` : "");
		}
		this.#link(pen.link);
		this.#pen = pen;
	}

	#link(id: number): void {
		const data = id === 0 ? undefined : this.#inside._oscLinkService.getLinkData(id);
		const isLinked = data && data.uri.length + (data.id?.length ?? 0) <= MAX_LINK_LENGTH;
		const link = isLinked ? `${data.id === undefined ? "" : `id=${harmless(data.id)}`};${harmless(data.uri)}` : ";";
		if (link === this.#linked) return;
		this.#linked = link;
		this.add(`\x1b]8;${link}\x1b\\`);
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

/** Nothing was written there, or half of a wide character was overwritten. */
function isNull(line: Line, col: number): boolean {
	return line.getWidth(col) === 1 && line.getString(col) === "";
}

/** The text of a cell. A wide character cut off by the edge is a blank. */
function textAt(line: Line, col: number, cols: number): string {
	const text = line.getString(col).slice(0, MAX_CELL_LENGTH);
	return text === "" || col + line.getWidth(col) > cols ? " " : harmless(text);
}

/** Letters, lines and ideographs, which never combine with the character before them. */
const ALONE = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u2500-\u25a9\u3400-\u9fff\uac00-\ud7a3]*$/;

function mayJoin(before: string, text: string): boolean {
	return before !== "" && !(ALONE.test(before) && ALONE.test(text));
}
