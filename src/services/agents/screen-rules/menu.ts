/** Reads the choices of a dialog from the rows of a screen. */

import type { ScreenRow } from "../../../core/terminal/screen-view.ts";
import type { DialogRule } from "./format.ts";
import { patternOf } from "./patterns.ts";
import type { AgentScreen, DialogChoice } from "./read-screen.ts";
import { type TextRow, unwrapped } from "./screen-text.ts";

/** Choices of one dialog. */
const MAX_CHOICES = 20;
/** Rows that a label or a description takes, with empty ones. */
const ROWS_PER_CHOICE = 6;
/** A label in a column is followed by its description after so many blanks. */
const COLUMN_GAP = /\s{2,}/;

const POINTER = "[❯›▸▶➤●◉>]";
const NUMBERED = new RegExp(`^(\\s*)(${POINTER})?(\\s*)(\\d{1,2})[.)]\\s+(\\S.*)$`, "u");
const POINTED = new RegExp(`^(\\s*)(${POINTER})(\\s+)(\\S.*)$`, "u");

export type Menu = {
	readonly choices: readonly DialogChoice[];
	readonly pointed: number | null;
	/** Index of its first row. */
	readonly from: number;
};

/** The choices at the end of the rows, or why there are none. */
export function readMenu(rule: DialogRule, rows: readonly TextRow[], screen: AgentScreen): Menu | string {
	switch (rule.menu) {
		case "numbered":
			return readNumbered(rule, rows, screen);
		case "plain":
			return readPlain(rows);
		case "buttons":
			return readButtons(rule, rows, screen);
		case "none":
			return { choices: [], pointed: null, from: rows.length };
	}
}

type Numbered = {
	readonly number: number;
	readonly index: number;
	readonly column: number;
	readonly isPointed: boolean;
	readonly label: string;
};

/** Goes up from the last row to the choice with number 1. */
function readNumbered(rule: DialogRule, rows: readonly TextRow[], screen: AgentScreen): Menu | string {
	const found: Numbered[] = [];
	/** Rows of text below the next choice. */
	let below: TextRow[] = [];
	let left = ROWS_PER_CHOICE;
	for (let index = rows.length - 1; index >= 0 && left > 0; index--, left--) {
		const row = rows[index] as TextRow;
		const [, indent = "", pointer, gap = "", digits, label = ""] = NUMBERED.exec(row.text) ?? [];
		const [next] = found;
		if (digits === undefined || (next && Number(digits) !== next.number - 1)) {
			if (row.text.trim() !== "") below.unshift(row);
			continue;
		}
		const column = indent.length + (pointer?.length ?? 0) + gap.length;
		if (!below.every((one, at) => one.row === row.row + 1 + at && indentOf(one.text) >= column)) {
			return `there is other text below the choice ${JSON.stringify(label)}`;
		}
		const [name = ""] = rule.hasDescriptions ? label.split(COLUMN_GAP) : [label];
		const whole = rule.hasDescriptions ? name : unwrapped([name, ...below.map(({ text }) => text)]);
		found.unshift({ number: Number(digits), index, column, isPointed: pointer !== undefined, label: whole });
		below = [];
		left = ROWS_PER_CHOICE;
		if (Number(digits) === 1) break;
		if (found.length >= MAX_CHOICES) return `there are more than ${MAX_CHOICES} choices`;
	}
	const [first] = found;
	if (first?.number !== 1 || found.length < 2) return "there are no numbered choices above the footer";
	if (found.some(({ column }) => column !== first.column)) return "the numbers of the choices are not in one column";
	const choices = found.map(({ label }, index) => ({ id: String(index + 1), label }));
	if (rule.isPointedByColor) {
		const places = found.map(({ index, column }) => ({ row: rows[index]?.row ?? 0, column }));
		return { choices, pointed: pointedByColor(places, screen), from: first.index };
	}
	const pointed = found.flatMap(({ isPointed }, index) => (isPointed ? [index] : []));
	if (pointed.length !== 1) return `${pointed.length} choices are pointed at`;
	return { choices, pointed: pointed[0] ?? null, from: first.index };
}

function indentOf(text: string): number {
	return text.length - text.trimStart().length;
}

/** The rows around the lowest pointer that have its indent. Only borders may follow them. */
function readPlain(rows: readonly TextRow[]): Menu | string {
	const end = rows.findLastIndex(({ text }) => text.trim() !== "") + 1;
	const index = rows.findLastIndex(({ text }) => POINTED.test(text));
	const [, indent = "", pointer = "", gap = "", pointedLabel = ""] = POINTED.exec(rows[index]?.text ?? "") ?? [];
	if (index < 0) return "no choice is pointed at";
	const column = indent.length + pointer.length + gap.length;
	const labels = [pointedLabel];
	let from = index;
	for (let label = labelAt(rows[from - 1], column); label; label = labelAt(rows[--from - 1], column))
		labels.unshift(label);
	const pointed = labels.length - 1;
	let to = index + 1;
	for (let label = labelAt(rows[to], column); label; label = labelAt(rows[++to], column)) labels.push(label);
	if (to !== end) return "there is other text below the choices";
	if (labels.length < 2 || labels.length > MAX_CHOICES) return `there are ${labels.length} choices`;
	if (labels.some((label) => /^\d{1,2}[.)]\s/.test(label))) return "the choices have numbers";
	return { choices: labels.map((label, row) => ({ id: String(row + 1), label })), pointed, from };
}

/** The label of a row without a pointer; undefined if its text begins elsewhere. */
function labelAt(row: TextRow | undefined, column: number): string | undefined {
	const text = row?.text ?? "";
	return text.trim() !== "" && indentOf(text) === column ? text.trim() : undefined;
}

/** The last row: the rule's labels side by side, then hints, which may be cut off. */
function readButtons(
	{ buttons = [], hints = "^$" }: DialogRule,
	rows: readonly TextRow[],
	screen: AgentScreen,
): Menu | string {
	const index = rows.findLastIndex(({ text }) => text.trim() !== "");
	const { text, row } = rows[index] ?? { text: "", row: 0 };
	const places: Place[] = [];
	let column = indentOf(text);
	for (const label of buttons) {
		if (!text.startsWith(label, column)) return `the last row does not have the button ${label}`;
		places.push({ row, column });
		column += label.length;
		column += indentOf(text.slice(column));
	}
	if (!patternOf(hints).test(text.slice(column))) return `the text after the buttons does not match ${hints}`;
	const choices = buttons.map((label, at) => ({ id: String(at + 1), label }));
	return { choices, pointed: pointedByColor(places, screen), from: index };
}

type Place = { readonly row: number; readonly column: number };

/** The one place whose background differs from that of all others and of the end of the last row. */
function pointedByColor(places: readonly Place[], { cells }: AgentScreen): number | null {
	const last = places.at(-1);
	if (!cells || !last) return null;
	const backgrounds = places.map(({ row, column }) => backgroundAt(cells[row], column));
	const usual = backgroundAt(cells[last.row], Number.POSITIVE_INFINITY);
	const all = [...backgrounds, usual];
	const unusual = backgrounds.flatMap((one, index) =>
		all.filter((other) => other === one).length === 1 ? [index] : [],
	);
	return unusual.length === 1 ? (unusual[0] ?? null) : null;
}

/** The background in a column, or of the last text in the row. */
function backgroundAt(row: ScreenRow | undefined, column: number): string {
	let at = 0;
	let background = "";
	for (const { text, cols, style } of row ?? []) {
		if (text.trim() !== "" || at <= column) background = JSON.stringify([style.bg ?? null, style.inverse ?? false]);
		at += cols;
		if (at > column) return background;
	}
	return background;
}
