/** Converts colors and flags of cells to styles and escape sequences. */

import type { ScreenColor, ScreenStyle } from "../core/terminal/screen-view.ts";
import type { Attributes, Extended } from "./xterm-internals.ts";

/** xterm's bits. */
const COLOR_MODE = 0x3000000;
const PALETTE_16 = 0x1000000;
const PALETTE_256 = 0x2000000;
const RGB = 0xffffff;
const INVERSE = 0x4000000;
const BOLD = 0x8000000;
const UNDERLINE = 0x10000000;
const BLINK = 0x20000000;
const INVISIBLE = 0x40000000;
const STRIKETHROUGH = 0x80000000;
const ITALIC = 0x4000000;
const DIM = 0x8000000;
const HAS_EXTENDED = 0x10000000;
const PROTECTED = 0x20000000;
const OVERLINE = 0x40000000;
const STYLE_SHIFT = 26;
const STYLE = 0x7;

export const PLAIN: Attributes = { fg: 0, bg: 0, extended: { _ext: 0, urlId: 0 } };

/** The style of text, with its sequence. Equal styles have equal sequences. */
export type Pen = {
	/** Sequence from any pen to this one, without links and protection. */
	readonly sgr: string;
	readonly isProtected: boolean;
	/** Number of xterm's link; zero for none. */
	readonly link: number;
};

const FG_FLAGS: readonly (readonly [bit: number, sgr: number])[] = [
	[BOLD, 1],
	[BLINK, 5],
	[INVERSE, 7],
	[INVISIBLE, 8],
	[STRIKETHROUGH, 9],
];
const BG_FLAGS: readonly (readonly [bit: number, sgr: number])[] = [
	[DIM, 2],
	[ITALIC, 3],
	[OVERLINE, 53],
];

/** `isCurrent`: the pen itself keeps an underline color even while it does not underline. */
export function penOf({ fg, bg, extended }: Attributes, { isCurrent = false }: { isCurrent?: boolean } = {}): Pen {
	const codes = [
		"0",
		...FG_FLAGS.filter(([bit]) => fg & bit).map(([, sgr]) => String(sgr)),
		...BG_FLAGS.filter(([bit]) => bg & bit).map(([, sgr]) => String(sgr)),
		...underline(fg, bg, extended, isCurrent),
		...color(fg, 30, ";"),
		...color(bg, 40, ";"),
	];
	return {
		sgr: `\x1b[${codes.join(";")}m`,
		isProtected: (bg & PROTECTED) !== 0,
		link: bg & HAS_EXTENDED ? extended.urlId : 0,
	};
}

function underline(fg: number, bg: number, { _ext: ext }: Extended, isCurrent: boolean): string[] {
	const style = fg & UNDERLINE ? (bg & HAS_EXTENDED && (ext >>> STYLE_SHIFT) & STYLE) || 1 : 0;
	const isColored = isCurrent || (style > 0 && bg & HAS_EXTENDED);
	return [...(style > 0 ? [style === 1 ? "4" : `4:${style}`] : []), ...(isColored ? color(ext, 50, ":") : [])];
}

/** `base` is 30 for the foreground, 40 for the background, 50 for underlines, which only have the long form. */
function color(bits: number, base: 30 | 40 | 50, separator: ";" | ":"): string[] {
	const mode = bits & COLOR_MODE;
	const number = bits & 0xff;
	if (mode === 0) return [];
	if (mode === PALETTE_16 && base !== 50) return [String(number < 8 ? base + number : base + 60 + number - 8)];
	if (mode === PALETTE_16 || mode === PALETTE_256) return [[base + 8, 5, number].join(separator)];
	const parts = [(bits >>> 16) & 0xff, (bits >>> 8) & 0xff, number];
	return [[base + 8, 2, ...(separator === ":" ? [""] : []), ...parts].join(separator)];
}

/** Only a background color, as erased cells have it. */
export function isErased({ fg, bg }: Pick<Attributes, "fg" | "bg">): boolean {
	return fg === 0 && (bg & ~(COLOR_MODE | RGB)) === 0;
}

/** The style for clients. */
export function styleOf({ fg, bg, extended }: Attributes): ScreenStyle {
	const text = colorOf(fg);
	const behind = colorOf(bg);
	const line = fg & UNDERLINE ? (bg & HAS_EXTENDED && (extended._ext >>> STYLE_SHIFT) & STYLE) || 1 : 0;
	return {
		...(text === undefined ? {} : { fg: text }),
		...(behind === undefined ? {} : { bg: behind }),
		...(fg & BOLD ? { bold: true } : {}),
		...(bg & DIM ? { dim: true } : {}),
		...(bg & ITALIC ? { italic: true } : {}),
		...(line > 0 && line <= 5 ? { underline: line as 1 | 2 | 3 | 4 | 5 } : {}),
		...(fg & BLINK ? { blink: true } : {}),
		...(fg & INVERSE ? { inverse: true } : {}),
		...(fg & INVISIBLE ? { invisible: true } : {}),
		...(fg & STRIKETHROUGH ? { strikethrough: true } : {}),
		...(bg & OVERLINE ? { overline: true } : {}),
	};
}

function colorOf(bits: number): ScreenColor | undefined {
	const mode = bits & COLOR_MODE;
	if (mode === 0) return undefined;
	if (mode === PALETTE_16 || mode === PALETTE_256) return bits & 0xff;
	return `#${(bits & RGB).toString(16).padStart(6, "0")}`;
}
