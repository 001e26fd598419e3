/** Renders the table as rows of text: a pure function of state, size and time. */

import { commandText } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { safeLine } from "../print/safe-text.ts";
import { cellsOf, cut, cutStart, fitted, wrapped } from "../terminal/cell-width.ts";
import type { Size } from "../terminal/local-terminal.ts";
import type { Row, Tone } from "./rows.ts";

/** The last row: a text field, a notice, or the available keys. */
export type StatusLine =
	| { readonly kind: "keys" }
	| { readonly kind: "notice"; readonly text: string; readonly isBad: boolean }
	/** `before` is the text before the cursor. A secret is never in it. */
	| { readonly kind: "field"; readonly label: string; readonly text: string; readonly before: string }
	/** Answered by one of the displayed keys. */
	| { readonly kind: "question"; readonly text: string; readonly keys: string };

export type Scene = {
	readonly size: Size;
	readonly now: number;
	readonly rows: readonly Row[];
	/** Index of the selected row, and of the first visible one. */
	readonly selected: number;
	readonly top: number;
	readonly counts: { readonly needing: number; readonly running: number; readonly ended: number };
	/** Lost connection and active filters. */
	readonly remarks: readonly string[];
	/** Displayed when there are no rows. */
	readonly emptyText: string;
	readonly statusLine: StatusLine;
	/** Replaces the table. */
	readonly page: readonly string[] | undefined;
	readonly hasColours: boolean;
};

export type Frame = {
	readonly lines: readonly string[];
	/** One-based; undefined while nothing is typed. */
	readonly cursor: { readonly row: number; readonly col: number } | undefined;
};

/** Lower terminals get no heading and a shorter question. */
const ROWS_FOR_HEADING = 8;
const ROWS_FOR_DETAIL = 12;
/** Rows below the table for the selected session's question. */
const DETAIL_ROWS = 3;
const SINCE_CELLS = 4;
/** On narrower terminals, names and states are cut so that the question fits. */
const NARROW_CELLS = 60;
/** Cells of the last row reserved for typed text. */
const FIELD_CELLS = 24;
const GAP = "  ";

const RESET = "\u001b[0m";
const BOLD = "\u001b[1m";
const REVERSE = "\u001b[7m";
const COLOURS: Readonly<Record<Tone, string>> = {
	wait: "\u001b[33m",
	bad: "\u001b[31m",
	good: "\u001b[32m",
	calm: "\u001b[2m",
};

/** Number of visible sessions. */
export function visibleRows({ rows }: Size): number {
	return Math.max(1, rows - 2 - headingRows(rows) - detailRows(rows));
}

/** Size of a page. */
export function pageSize({ cols, rows }: Size): Size {
	return { cols, rows: Math.max(0, rows - 2 - headingRows(rows)) };
}

export function renderFrame(scene: Scene): Frame {
	const { size, page } = scene;
	const { line, col } = lastLine(scene);
	const body = page ? pageLines(page, size) : [...tableLines(scene), ...detailLines(scene)];
	const lines = [titleLine(scene), ...body.slice(0, size.rows - 2)];
	while (lines.length < size.rows - 1) lines.push("");
	return {
		lines: [...lines, line].slice(-size.rows),
		cursor: col === undefined ? undefined : { row: size.rows, col },
	};
}

function headingRows(rows: number): number {
	return rows >= ROWS_FOR_HEADING ? 1 : 0;
}

/** An empty row, the name, and the question. */
function detailRows(rows: number): number {
	return rows >= ROWS_FOR_DETAIL ? DETAIL_ROWS + 1 : 0;
}

function titleLine({ counts, remarks, size: { cols } }: Scene): string {
	const { needing, running, ended } = counts;
	const who = needing === 0 ? "nothing needs you" : `${needing} need${needing === 1 ? "s" : ""} you`;
	const right = cut(remarks.join(" · "), cols);
	const left = cut(`${who} · ${running} running · ${ended} ended`, Math.max(0, cols - cellsOf(right) - 1));
	const between = " ".repeat(Math.max(0, cols - cellsOf(left) - cellsOf(right)));
	return `${BOLD}${left}${between}${right}${RESET}`;
}

type Widths = { readonly name: number; readonly word: number; readonly text: number };

/** Names and states get their full width if enough is left for the question. */
function widthsOf(rows: readonly Row[], cols: number): Widths {
	const longest = (texts: readonly string[], least: number, most: number) =>
		Math.max(least, Math.min(most, Math.max(0, ...texts.map(cellsOf))));
	const isNarrow = cols < NARROW_CELLS;
	const name = longest(
		rows.map((row) => row.name),
		4,
		isNarrow ? 12 : Math.floor(cols / 4),
	);
	const word = longest(
		rows.map((row) => wordOf(row, { cols })),
		5,
		isNarrow ? 9 : 17,
	);
	return { name, word, text: Math.max(0, cols - 2 - name - word - SINCE_CELLS - 3 * GAP.length) };
}

function tableLines(scene: Scene): string[] {
	const { rows, size, top, emptyText } = scene;
	const shown = rows.slice(top, top + visibleRows(size));
	const widths = widthsOf(shown, size.cols);
	const heading = columns(["  ", "NAME", "STATE", "FOR", ""], widths);
	const lines = headingRows(size.rows) > 0 ? [`\u001b[2m${cut(heading, size.cols)}${RESET}`] : [];
	if (rows.length === 0) lines.push("", ...wrapped(emptyText, size.cols, 3));
	for (const [index, row] of shown.entries()) lines.push(tableLine(scene, row, top + index === scene.selected, widths));
	while (lines.length < visibleRows(size) + headingRows(size.rows)) lines.push("");
	return lines;
}

function tableLine({ now, size, hasColours }: Scene, row: Row, isSelected: boolean, widths: Widths): string {
	const since = row.since === undefined ? "" : formatDuration(now - row.since);
	const text = needText(row, widths.text);
	const line = cut(columns([isSelected ? "> " : "  ", row.name, wordOf(row, size), since, text], widths), size.cols);
	if (isSelected) return `${REVERSE}${fitted(line, size.cols)}${RESET}`;
	return hasColours || row.tone === "calm" ? `${COLOURS[row.tone]}${line}${RESET}` : line;
}

function wordOf({ need, word }: Row, { cols }: Pick<Size, "cols">): string {
	const isNarrow = cols < NARROW_CELLS;
	return isNarrow && (need?.kind === "secret" || need?.kind === "approval") ? need.kind : word;
}

/** Keeps the end of the text, where the question is. */
function needText({ need, text }: Row, width: number): string {
	const isPrompt = need?.kind === "secret" || (need?.kind === "asks" && !need.agent);
	return isPrompt ? cutStart(text, width) : text;
}

type Cells = readonly [mark: string, who: string, state: string, since: string, what: string];

function columns([mark, who, state, since, what]: Cells, { name, word, text }: Widths): string {
	return `${mark}${[fitted(who, name), fitted(state, word), since.padStart(SINCE_CELLS), cut(what, text)].join(GAP)}`;
}

/** The selected session and its question, as far as it fits. */
function detailLines({ rows, selected, size }: Scene): string[] {
	const row = rows[selected];
	if (!row || detailRows(size.rows) === 0) return [];
	const { id, argv, cwd, workspace } = row.session;
	const what = safeLine(`${row.name} · ${commandText(argv)} · ${cwd} · ${workspace} · ${id}`);
	return [
		"",
		`\u001b[2m${cut(what, size.cols)}${RESET}`,
		...wrapped(needText(row, size.cols * (DETAIL_ROWS - 1)), size.cols, DETAIL_ROWS - 1),
	];
}

function pageLines(page: readonly string[], { cols, rows }: Size): string[] {
	return [...(headingRows(rows) > 0 ? [""] : []), ...page.map((line) => cut(line, cols))];
}

function lastLine({ statusLine, rows, selected, size: { cols } }: Scene): { line: string; col?: number } {
	switch (statusLine.kind) {
		case "keys":
			return { line: `\u001b[2m${cut(hintsFor(rows[selected]), cols)}${RESET}` };
		case "notice":
			return { line: `${statusLine.isBad ? COLOURS.bad : ""}${cut(statusLine.text, cols)}${RESET}` };
		case "question":
			return questionLine(statusLine, cols);
		case "field":
			return fieldLine(statusLine, cols);
	}
}

/** The keys stay visible, however long the question is. */
function questionLine(
	{ text, keys }: Extract<StatusLine, { kind: "question" }>,
	cols: number,
): { line: string; col: number } {
	const line = `${cut(text, Math.max(0, cols - cellsOf(keys) - 2))} ${keys} `;
	return { line: `${BOLD}${cut(line, cols)}${RESET}`, col: Math.min(cols, cellsOf(line) + 1) };
}

/** The text up to the cursor stays visible; first its start is cut, then the label. */
function fieldLine(
	{ label, text, before }: Extract<StatusLine, { kind: "field" }>,
	cols: number,
): { line: string; col: number } {
	const prompt = cut(label, Math.max(8, cols - Math.min(FIELD_CELLS, Math.floor(cols / 2))));
	const room = Math.max(1, cols - cellsOf(prompt) - 2);
	const characters = [...before];
	while (cellsOf(characters.join("")) > room) characters.shift();
	const seen = characters.join("");
	const rest = cut(text.slice(before.length), Math.max(0, room - cellsOf(seen)));
	return { line: `${BOLD}${prompt}${RESET} ${seen}${rest}`, col: cellsOf(prompt) + 2 + cellsOf(seen) };
}

function hintsFor(row: Row | undefined): string {
	const kind = row?.need?.kind;
	if (kind === "approval") return "y approve · n deny · o open · ? keys · q quit · / filter";
	if (row?.need?.kind === "asks" && row.need.agent)
		return "number or Enter answer · o open · ? keys · q quit · / filter";
	if (kind === "asks" || kind === "secret") return "Enter answer · o open · ? keys · q quit · x kill · / filter";
	if (kind === "failed" || kind === "quiet") return "o open · d dismiss · ? keys · q quit · x kill · / filter";
	if (row?.session.overview?.agent) return "Enter prompt · o open · ? keys · q quit · x kill · / filter";
	return "o open · a type a line · ? keys · q quit · x kill · / filter";
}
