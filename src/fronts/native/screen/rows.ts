/** What rows of a screen are without what is not seen of them. */

import type { ScreenRow, ScreenStyle } from "../../../core/screen.ts";

/** Empty rows at the end say nothing. */
export function withoutEnd(lines: readonly string[]): string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

/** Nor do blanks at the end of a row, unless they have a colour. */
export function withoutBlanks(row: ScreenRow): ScreenRow {
	const end = row.findLastIndex(({ text, style }) => text.trimEnd() !== "" || !isPlain(style));
	return row.slice(0, end + 1).map((run, index) => {
		if (index < end || run.isSingle || !isPlain(run.style)) return run;
		const text = run.text.trimEnd();
		return { ...run, text, cols: text.length };
	});
}

function isPlain(style: ScreenStyle): boolean {
	return Object.keys(style).length === 0;
}
