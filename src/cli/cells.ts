/** How much of a terminal's row a text takes, and how it is made to fit. */

/** Characters that terminals draw twice as wide, and those that they draw on the one before. */
const WIDE =
	/[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Characters for each cell: more than any writing needs, and no row becomes long by what takes no room. */
const MOST_PER_CELL = 8;

/** How many cells of a terminal it takes. */
export function cellsOf(text: string): number {
	let cells = 0;
	for (const character of text) cells += widthOf(character);
	return cells;
}

function widthOf(character: string): number {
	return COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

/** At most so many cells of it, the last of which says that there is more. */
export function cut(text: string, width: number): string {
	if (text.length <= width * MOST_PER_CELL && cellsOf(text) <= width) return text;
	return width < 1 ? "" : `${pieceOf(text, width - 1)}…`;
}

/** The same of its end. */
export function cutStart(text: string, width: number): string {
	if (text.length <= width * MOST_PER_CELL && cellsOf(text) <= width) return text;
	const backwards = [...text.slice(-width * MOST_PER_CELL)].reverse().join("");
	return width < 1 ? "" : `…${[...pieceOf(backwards, width - 1)].reverse().join("")}`;
}

/** Exactly so many cells. */
export function fitted(text: string, width: number): string {
	const shown = cut(text, width);
	return shown + " ".repeat(Math.max(0, width - cellsOf(shown)));
}

/** In rows of this width, as many as are given; the last says that there is more. */
export function wrapped(text: string, width: number, rows: number): string[] {
	const lines: string[] = [];
	let rest = text;
	while (rest !== "" && lines.length < rows) {
		const line = lines.length === rows - 1 ? cut(rest, width) : pieceOf(rest, width);
		lines.push(line);
		// A character that is wider than all there is would never come to its end.
		rest = line === "" ? "" : rest.slice(line.length);
	}
	return lines;
}

/** As much of its beginning as fits into so many cells. */
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
