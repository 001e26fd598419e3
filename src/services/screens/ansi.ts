/** Renders rows of a screen as colored text for any terminal. */

import type { ScreenRow, ScreenStyle } from "../../core/terminal/screen-view.ts";
import { withoutBlanks } from "./rows.ts";

const FLAGS: readonly (readonly [keyof ScreenStyle, number])[] = [
	["bold", 1],
	["dim", 2],
	["italic", 3],
	["blink", 5],
	["inverse", 7],
	["invisible", 8],
	["strikethrough", 9],
	["overline", 53],
];
const PLAIN = "\x1b[0m";

export function ansiLines(rows: readonly ScreenRow[]): string[] {
	return rows.map(ansiLine);
}

/** Resets the style at the end of the line. */
function ansiLine(row: ScreenRow): string {
	let line = "";
	let pen = "";
	for (const { text, style } of withoutBlanks(row)) {
		const codes = codesOf(style).join(";");
		if (codes !== pen) line += `${pen === "" ? "" : PLAIN}${codes === "" ? "" : `\x1b[${codes}m`}`;
		pen = codes;
		line += text;
	}
	return pen === "" ? line : `${line}${PLAIN}`;
}

function codesOf(style: ScreenStyle): (number | string)[] {
	const { fg, bg, underline } = style;
	return [
		...FLAGS.filter(([flag]) => style[flag]).map(([, code]) => code),
		...(underline === undefined ? [] : [underline === 1 ? 4 : `4:${underline}`]),
		...colorCodes(fg, 38),
		...colorCodes(bg, 48),
	];
}

function colorCodes(color: ScreenStyle["fg"], code: 38 | 48): number[] {
	if (color === undefined) return [];
	if (typeof color === "number") return [code, 5, color];
	return [code, 2, ...[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))];
}
