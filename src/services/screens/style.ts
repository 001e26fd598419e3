/** Converts styles to CSS for images and pages. */

import type { ScreenColor, ScreenStyle } from "../../core/terminal/screen-view.ts";

/** Default colors. */
export const FOREGROUND = "#eeeeec";
export const BACKGROUND = "#000000";
export const FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/** The first 16 palette colors, as in xterm.js; the others are computed. */
const NAMED: readonly string[] = (
	"#2e3436 #cc0000 #4e9a06 #c4a000 #3465a4 #75507b #06989a #d3d7cf " +
	"#555753 #ef2929 #8ae234 #fce94f #729fcf #ad7fa8 #34e2e2 #eeeeec"
).split(" ");
const CUBE_LEVELS: readonly number[] = [0, 95, 135, 175, 215, 255];
const FIRST_GRAY = 232;
const LINES: readonly (string | undefined)[] = [undefined, undefined, "double", "wavy", "dotted", "dashed"];

type CssStyle = {
	readonly color: string;
	/** Undefined for the default background. */
	readonly background: string | undefined;
	readonly isHidden: boolean;
	/** Declarations for the text. */
	readonly css: readonly string[];
};

export function lookOf(style: ScreenStyle): CssStyle {
	const { bold, dim, italic, underline = 0, inverse, invisible = false, strikethrough, overline } = style;
	const text = style.fg === undefined ? FOREGROUND : cssColor(style.fg);
	const behind = style.bg === undefined ? undefined : cssColor(style.bg);
	const [color, background] = inverse ? [behind ?? BACKGROUND, text] : [text, behind];
	const lines = [underline > 0 && "underline", strikethrough && "line-through", overline && "overline"].filter(Boolean);
	const kind = LINES[underline];
	return {
		color: dim ? between(color, background ?? BACKGROUND) : color,
		background,
		isHidden: invisible,
		css: [
			...(bold ? ["font-weight:bold"] : []),
			...(italic ? ["font-style:italic"] : []),
			...(lines.length > 0 ? [`text-decoration:${lines.join(" ")}`] : []),
			// A declaration of its own: a viewer that does not support it still underlines.
			...(kind ? [`text-decoration-style:${kind}`] : []),
		],
	};
}

/** Escapes text for XML and HTML content and attributes. Characters that are invalid there become replacement characters. */
export function escaped(text: string): string {
	return text
		.replace(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff\p{Cs}]/gu, "\ufffd")
		.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function cssColor(color: ScreenColor): string {
	if (typeof color === "string") return color;
	const named = NAMED[color];
	if (named !== undefined) return named;
	if (color >= FIRST_GRAY) return hex([0, 0, 0].map(() => 8 + 10 * (color - FIRST_GRAY)));
	const index = color - NAMED.length;
	return hex([Math.floor(index / 36), Math.floor(index / 6) % 6, index % 6].map((level) => CUBE_LEVELS[level] ?? 0));
}

function between(one: string, other: string): string {
	const parts = (color: string) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
	const others = parts(other);
	return hex(parts(one).map((part, index) => Math.round((part + (others[index] ?? 0)) / 2)));
}

function hex(parts: readonly number[]): string {
	return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
