/** The complete state of a terminal, read from xterm itself and not by the code under test. */

import type { Attributes, OpenedTerminal, ScreenBuffer } from "../../src/emulator/xterm-internals.ts";

export type StateOptions = {
	/** Whether scrollback counts, too. */
	readonly hasScrollback?: boolean;
	/**
	 * Whether it was resized: xterm then moves the row of a saved cursor further than the text, also where it is
	 * invisible.
	 */
	readonly isResized?: boolean;
};

export function stateOf(opened: OpenedTerminal, options: StateOptions = {}) {
	const { inside, terminal: xterm } = opened;
	const { normal, alt, active } = inside.buffers;
	const { coreService, coreMouseService, _charsetService, _inputHandler } = inside;
	return {
		screen: screenOf(opened, active, options),
		behind: active === alt ? screenOf(opened, normal, options) : null,
		isAlternate: active === alt,
		cursor: [active.x, active.y],
		pen: look(opened, _inputHandler._curAttrData),
		modes: { ...coreService.modes, ...coreService.decPrivateModes, isHidden: coreService.isCursorHidden },
		mouse: [coreMouseService.activeProtocol, coreMouseService.activeEncoding],
		newline: xterm.options.convertEol,
		blink: xterm.options.cursorBlink,
		charset: keys(_charsetService.charset),
		charsets: [0, 1, 2, 3].map((level) => keys(_charsetService._charsets[level])),
		glevel: _charsetService.glevel,
		title: _inputHandler._windowTitle,
		titles: [..._inputHandler._windowTitleStack],
		parser: _inputHandler._parser.currentState,
	};
}

function screenOf(opened: OpenedTerminal, buffer: ScreenBuffer, { hasScrollback = true, isResized }: StateOptions) {
	const { cols, rows } = opened.terminal;
	const first = hasScrollback ? 0 : buffer.ybase;
	return {
		lines: Array.from({ length: buffer.ybase + rows - first }, (_, row) => {
			const line = buffer.lines.get(first + row);
			if (!line) return null;
			const cells = Array.from({ length: cols }, (_, col) => {
				const attributes = {
					fg: line.getFg(col),
					bg: line.getBg(col),
					extended: line._extendedAttrs[col] ?? { _ext: 0, urlId: 0 },
				};
				return `${line.getWidth(col)}${line.getString(col)}${look(opened, attributes)}`;
			});
			return `${line.isWrapped ? "↪" : "|"}${cells.join("|")}`;
		}),
		margins: [buffer.scrollTop, buffer.scrollBottom],
		tabs: Array.from({ length: cols }, (_, col) => (buffer.tabs[col] ? "T" : ".")).join(""),
		saved: [
			Math.min(buffer.savedX, cols - 1),
			isResized ? null : Math.min(Math.max(buffer.savedY - buffer.ybase, 0), rows - 1),
			bits(buffer.savedCurAttrData.fg),
			bits(buffer.savedCurAttrData.bg & ~HAS_EXTENDED),
			keys(buffer.savedCharset),
		],
	};
}

/**
 * Whether a terminal can be brought to this state. Without autowrap xterm leaves half of a wide character at the edge,
 * or a cursor beyond the edge of a row whose last cell was erased alone.
 */
export function isSound({ inside, terminal: { cols } }: OpenedTerminal): boolean {
	const { lines, ybase, x, y } = inside.buffers.active;
	const row = lines.get(ybase + y);
	const isEmpty = (col: number) => row?.getString(col) === "" && row.getWidth(col) === 1;
	if (x === cols && isEmpty(cols - 1) && !Array.from({ length: cols }, (_, col) => col).every(isEmpty)) return false;
	for (let index = 0; index < lines.length; index++) {
		const line = lines.get(index);
		if (line?.getWidth(cols - 1) === 2) return false;
		for (let col = 0; line && col < cols; col++) {
			const isHalf = line.getWidth(col) === 0 && line.getString(col) === "";
			const isAfterWide = col > 0 && line.getWidth(col - 1) === 2;
			if (isHalf !== isAfterWide) return false;
		}
	}
	return true;
}

const UNDERLINE = 0x10000000;
const HAS_EXTENDED = 0x10000000;

/** The visible part of attributes. How xterm stores them, or numbers links, is its own affair. */
function look({ inside }: OpenedTerminal, { fg, bg, extended }: Attributes): string {
	if (fg === 0 && bg === 0) return "";
	const isApart = (bg & HAS_EXTENDED) !== 0;
	const style = fg & UNDERLINE ? (isApart && (extended._ext >>> 26) & 7) || 1 : 0;
	const color = style > 0 && isApart ? bits(extended._ext & 0x3ffffff) : "";
	const link = isApart && extended.urlId ? (inside._oscLinkService.getLinkData(extended.urlId)?.uri ?? "") : "";
	const seen = `:${bits(fg)},${bits(bg & ~HAS_EXTENDED)},${style}${color}${link}`;
	return seen === ":0,0,0" ? "" : seen;
}

/** Without leftovers of an earlier color in fields that the later one does not use. */
function bits(attribute: number): string {
	const mode = attribute & 0x3000000;
	const used = mode === 0 ? 0 : mode === 0x3000000 ? 0xffffff : 0xff;
	return ((attribute & (used | 0xff000000)) >>> 0).toString(16);
}

function keys(charset: Readonly<Record<string, string>> | undefined): string {
	return charset ? Object.values(charset).join("") : "";
}
