/** Measures text in terminal cells, and cuts it to fit. */

/** Characters two cells wide, and combining characters of width zero. */
const WIDE =
	/[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Characters per cell: enough for every script, and zero-width characters can't make a row endless. */
const MOST_PER_CELL = 8;

/** Width in cells. */
export function cellsOf(text: string): number {
	let cells = 0;
	for (const character of text) cells += widthOf(character);
	return cells;
}

function widthOf(character: string): number {
	return COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

/** Cuts to a width; the last cell of a cut text is an ellipsis. */
export function cut(text: string, width: number): string {
	if (text.length <= width * MOST_PER_CELL && cellsOf(text) <= width) return text;
	return width < 1 ? "" : `${pieceOf(text, width - 1)}…`;
}

/** The same, but keeps the end. */
export function cutStart(text: string, width: number): string {
	if (text.length <= width * MOST_PER_CELL && cellsOf(text) <= width) return text;
	const backwards = [...text.slice(-width * MOST_PER_CELL)].reverse().join("");
	return width < 1 ? "" : `…${[...pieceOf(backwards, width - 1)].reverse().join("")}`;
}

/** Cuts or pads to an exact width. */
export function fitted(text: string, width: number): string {
	const shown = cut(text, width);
	return shown + " ".repeat(Math.max(0, width - cellsOf(shown)));
}

/** Wraps into at most `rows` rows; a cut text ends with an ellipsis. */
export function wrapped(text: string, width: number, rows: number): string[] {
	const lines: string[] = [];
	let rest = text;
	while (rest !== "" && lines.length < rows) {
		const line = lines.length === rows - 1 ? cut(rest, width) : pieceOf(rest, width);
		lines.push(line);
		// Drop a character wider than a whole row, else the loop would not end.
		rest = line === "" ? "" : rest.slice(line.length);
	}
	return lines;
}

/** The longest prefix that fits. */
function pieceOf(text: string, width: number): string {
	let room = width;
	let most = width * MOST_PER_CELL;
	let shown = "";
	for (const character of text) {
		room -= widthOf(character);
		if (room < 0 || most-- <= 0) break;
		shown += character;
	}
	return shown;
}
