/** The text of a rendered screen without borders, and its paragraphs. */

/** Vertical borders at the beginning and end of a row. */
const LEFT_BORDER = /^\s*[│┃║▎](?=\s|[│┃╭╰]|$)/;
const RIGHT_BORDER = /(?<=\S.*)\s[│┃║]\s*$/;
/** A horizontal border, or the upper or lower half of a box. */
const BORDER = /^\s*[╭╰┌└╻╹├]?[─━═╌▀▄▔▁]{3,}[╮╯┐┘┤]?\s*$/;
/** A border that begins a dialog: a solid line or the upper half of a box, but not of a box within a box. */
const TOP = /^\s{0,2}(?:[╭┌]?[─━═]{3,}[╮┐]?)\s*$/;

export type TextRow = {
	/** Without borders. Empty for a row of borders. */
	readonly text: string;
	/** With its left border. */
	readonly bordered: string;
	/** A horizontal border. */
	readonly isBorder: boolean;
	/** A border that begins a dialog. */
	readonly isTop: boolean;
	/** Index on the screen. */
	readonly row: number;
};

export function textRows(lines: readonly string[], columns: number): TextRow[] {
	return lines.map((line, row) => {
		const whole = line.slice(0, columns).trimEnd();
		const text = withoutBorders(whole);
		const isBorder = BORDER.test(text);
		return {
			text: isBorder ? "" : text,
			bordered: whole.replace(RIGHT_BORDER, ""),
			isBorder,
			isTop: TOP.test(whole),
			row,
		};
	});
}

function withoutBorders(line: string): string {
	let text = line.replace(RIGHT_BORDER, "");
	// A box within a box.
	text = text.replace(RIGHT_BORDER, "");
	const inner = text.replace(LEFT_BORDER, (border) => " ".repeat(border.length));
	return (inner === text ? text : inner.replace(LEFT_BORDER, (border) => " ".repeat(border.length))).trimEnd();
}

/** The text of rows in one line. */
export function joined(rows: readonly TextRow[]): string {
	return unwrapped(rows.map(({ text }) => text));
}

/** Rows in one line. Agents wrap at blanks, and after hyphens. */
export function unwrapped(lines: readonly string[]): string {
	const texts = lines.map((line) => line.trim()).filter((text) => text !== "");
	return texts.reduce((all, text) => (/[\p{L}\d]-$/u.test(all) ? all + text : `${all} ${text}`).trim(), "");
}

/** Signs that turn while an agent works, and blinking bullets. */
const SPINNERS = /[\u2800-\u28ff◐◓◑◒◜◝◞◟◴◵◶◷·∗✢✳✶✻✽●○⬝■□▪▫]/g;

/** The text of a screen without what turns or blinks. */
export function stillText(lines: readonly string[]): string {
	return lines.join("\n").replace(SPINNERS, " ").replace(/ +$/gm, "");
}
