/** Removes invisible blanks from rows of a screen. */

import type { ScreenRow, ScreenStyle } from "../../core/terminal/screen-view.ts";

/** Trailing blanks are invisible unless they are styled. */
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
