/** The terminal's colors, from the page's design tokens, so that each theme is defined once. */

import type { ITheme } from "@xterm/xterm";

/** Minimum contrast. Programs choose colors for other backgrounds, so text with less is adjusted. */
export const MINIMUM_CONTRAST = 4.5;

export type TokenReader = (name: string) => string;

/** The current values of tokens on an element. */
export function tokensOf(element: Element): TokenReader {
	const style = getComputedStyle(element);
	return (name) => style.getPropertyValue(`--${name}`).trim();
}

export function themeOf(token: TokenReader): ITheme {
	const grey = token("t-grey");
	return {
		background: token("term"),
		foreground: token("text"),
		cursor: token("text"),
		cursorAccent: token("term"),
		selectionBackground: `${token("accent")}42`,
		scrollbarSliderBackground: `${grey}42`,
		scrollbarSliderHoverBackground: `${grey}70`,
		scrollbarSliderActiveBackground: `${grey}90`,
		overviewRulerBorder: token("line"),
		black: token("line-2"),
		red: token("t-red"),
		green: token("t-green"),
		yellow: token("t-yellow"),
		blue: token("t-blue"),
		magenta: token("t-magenta"),
		cyan: token("t-cyan"),
		white: token("text-2"),
		brightBlack: grey,
		brightRed: token("t-red"),
		brightGreen: token("t-green"),
		brightYellow: token("t-yellow"),
		brightBlue: token("t-blue"),
		brightMagenta: token("t-magenta"),
		brightCyan: token("t-cyan"),
		brightWhite: token("text"),
	};
}
