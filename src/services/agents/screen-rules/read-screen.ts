/** Reads the state of a coding agent from its rendered screen, by rules. Pure: a screen and rules in, a reading out. */

import type { ScreenRow, ScreenView } from "../../../core/terminal/screen-view.ts";
import type { AgentKind, AgentState } from "../../../words/agent.ts";
import type { AgentRules, DialogRule, StateRule } from "./format.ts";
import { type Menu, readMenu } from "./menu.ts";
import { patternOf } from "./patterns.ts";
import { joined, type TextRow, textRows } from "./screen-text.ts";

/** The question is at most this many rows above the choices. A command or diff may be between them. */
const QUESTION_ROWS = 40;
/** A footer wraps to at most this many rows. */
const FOOTER_ROWS = 3;
/** Columns that borders and padding take from a row that wraps. */
const WRAP_MARGIN = 8;
/** @limit details of a dialog that is read from a screen | % characters | the rest is left out */
const MAX_DETAILS = 4_096;
/** A command with this may be cut. */
const CUT = /…|\.\.\.\s*$/;
const DEFAULT_QUESTION = "^.*\\?$";

/** The parts of a screen that rules read. `cells` are needed by rules for colors. */
export type AgentScreen = Pick<ScreenView, "lines" | "cols" | "cursor"> & { readonly cells?: readonly ScreenRow[] };

export type ScreenReading = {
	readonly app: string;
	readonly rule: string;
	readonly state: AgentState;
	readonly dialog: Dialog | null;
};

/** A dialog on the screen. */
export type Dialog = {
	readonly rule: DialogRule;
	readonly kind: AgentKind;
	readonly question: string | null;
	readonly details: string | null;
	/** The command that it asks about; null if the rule finds none, or if it may be cut or wrapped. */
	readonly command: string | null;
	readonly choices: readonly DialogChoice[];
	/** Index of the choice that Enter would take; null if the screen does not show it. */
	readonly pointed: number | null;
};

export type DialogChoice = {
	/** Its number, from 1. */
	readonly id: string;
	readonly label: string;
};

/** A rule that was tried, and why it does not match; null if it does. */
export type RuleTrial = { readonly rule: string; readonly reason: string | null };

export type ScreenExplanation = { readonly reading: ScreenReading | null; readonly tried: readonly RuleTrial[] };

export function readAgentScreen(screen: AgentScreen, rules: AgentRules): ScreenReading | null {
	return explainAgentScreen(screen, rules).reading;
}

/** Whether reading by these rules needs the colors of the screen. */
export function needsCells(rules: AgentRules): boolean {
	return rules.dialogs.some(({ isPointedByColor }) => isPointedByColor);
}

/** Tries the rules in order until one matches. */
export function explainAgentScreen(screen: AgentScreen, rules: AgentRules): ScreenExplanation {
	const columns = columnsOf(screen, rules);
	const rows = filledRows(screen, columns);
	const tried: RuleTrial[] = [];
	for (const rule of rules.dialogs) {
		const found = readDialog(rule, rows, screen, columns);
		tried.push({ rule: rule.id, reason: typeof found === "string" ? found : null });
		if (typeof found === "string") continue;
		return { reading: { app: rules.agent, rule: rule.id, state: "blocked", dialog: found }, tried };
	}
	// The panel is not always there: without it, the input may reach into its columns.
	const whole = columns === screen.cols ? [] : [filledRows(screen, screen.cols)];
	for (const shown of [rows, ...whole]) {
		for (const rule of rules.states) {
			const reason = stateMismatch(rule, shown);
			tried.push({ rule: rule.id, reason });
			if (reason !== null) continue;
			return { reading: { app: rules.agent, rule: rule.id, state: rule.state, dialog: null }, tried };
		}
	}
	return { reading: null, tried };
}

/** Whether two readings show the same dialog, wherever the pointer is. */
export function isSameDialog(one: Dialog | null | undefined, other: Dialog | null | undefined): boolean {
	if (!one || !other) return one === other;
	const hasSameLabels = one.choices.length === other.choices.length && one.choices.every(hasLabelOf(other));
	return isSameQuestion(one, other) && hasSameLabels;
}

/** The same, whatever the choices show now. */
export function isSameQuestion(one: Dialog | null | undefined, other: Dialog): boolean {
	return one?.rule.id === other.rule.id && one.question === other.question && one.details === other.details;
}

function hasLabelOf(other: Dialog): (choice: DialogChoice, index: number) => boolean {
	return ({ label }, index) => label === other.choices[index]?.label;
}

/** The columns without a panel at the right. */
export function columnsOf({ cols }: Pick<AgentScreen, "cols">, { panel }: Pick<AgentRules, "panel">): number {
	return panel && cols >= panel.minColumns ? cols - panel.columns : cols;
}

/** The rows down to the last one that has text. Borders below it are left out. */
function filledRows({ lines }: AgentScreen, columns: number): TextRow[] {
	const rows = textRows(lines, columns);
	return rows.slice(0, rows.findLastIndex(({ text }) => text.trim() !== "") + 1);
}

/** The dialog, or why there is none. */
function readDialog(rule: DialogRule, all: readonly TextRow[], screen: AgentScreen, columns: number): Dialog | string {
	const shown = rule.field === undefined ? all : withoutField(all, rule.field);
	const rows = rule.below === undefined ? shown : withoutBelow(shown, rule.below);
	const end = rule.footer === undefined ? rows.length : footerStart(rule.footer, rows, columns);
	if (end === undefined) return `the last row does not match the footer ${rule.footer}`;
	const menu = readMenu(rule, rows.slice(0, end), screen);
	if (typeof menu === "string") return menu;
	const { choices, pointed, from } = menu;
	if (rule.choice !== undefined && !choices.some(({ label }) => matches(rule.choice, label))) {
		return `no choice matches ${rule.choice}`;
	}
	const question = findQuestion(rule, rows, from);
	if (question === undefined && rule.choice === undefined) {
		return `no paragraph above the choices matches the question ${rule.question ?? DEFAULT_QUESTION}`;
	}
	if (question === undefined && rule.menu === "none") return `no paragraph matches the question ${rule.question}`;
	const details = detailsOf(rule, rows.slice(0, end), menu, question);
	const command = question && details !== null ? commandIn(details, rule, rows.slice(0, from), columns) : null;
	return { rule, kind: rule.kind, question: question?.text ?? null, details, command, choices, pointed };
}

/** A command in one row that ends before the edge: in several rows, a wrapped line looks like two. */
function commandIn(details: string, rule: DialogRule, rows: readonly TextRow[], columns: number): string | null {
	if (rule.command === undefined || details.length >= MAX_DETAILS) return null;
	const found = patternOf(rule.command).exec(details);
	const command = found?.[0] === details ? found[1] : undefined;
	if (command === undefined || CUT.test(command)) return null;
	const row = rows.findLast(({ text }) => text.endsWith(command));
	return row && row.text.length < columns - WRAP_MARGIN ? command : null;
}

/** The rows above the border of an open text field. */
function withoutField(rows: readonly TextRow[], field: string): readonly TextRow[] {
	let end = rows.length;
	while (end > 0 && matches(field, rows[end - 1]?.bordered ?? "")) end--;
	if (end === rows.length || rows[end - 1]?.isBorder !== true) return rows;
	return rows.slice(0, rows.slice(0, end).findLastIndex(({ text }) => text.trim() !== "") + 1);
}

/** The rows above the last paragraphs that match. */
function withoutBelow(rows: readonly TextRow[], below: string): readonly TextRow[] {
	const to = rows.findLastIndex(({ text }) => text.trim() !== "") + 1;
	const from = rows.slice(0, to).findLastIndex(({ text }) => text.trim() === "") + 1;
	if (to === 0 || !matches(below, joined(rows.slice(from, to)))) return rows.slice(0, to);
	return withoutBelow(rows.slice(0, from), below);
}

/** The index of the first row of the footer. A row belongs to it if it is full, so that the next one is its continuation. */
function footerStart(footer: string, rows: readonly TextRow[], columns: number): number | undefined {
	for (let from = rows.length - 1; from >= Math.max(0, rows.length - FOOTER_ROWS); from--) {
		const text = rows[from]?.text ?? "";
		const [next] = rows[from + 1]?.text.trim().split(" ") ?? [];
		if (text.trim() === "" || (next !== undefined && text.length + next.length < columns - WRAP_MARGIN))
			return undefined;
		if (matches(footer, joined(rows.slice(from)))) return from;
	}
	return undefined;
}

type Question = { readonly text: string; readonly from: number; readonly to: number };

function findQuestion(rule: DialogRule, rows: readonly TextRow[], menuFrom: number): Question | undefined {
	const pattern = patternOf(rule.question ?? DEFAULT_QUESTION);
	let to = menuFrom;
	while (to > Math.max(0, menuFrom - QUESTION_ROWS)) {
		while (to > 0 && rows[to - 1]?.text.trim() === "") to--;
		let from = to;
		while (from > 0 && rows[from - 1]?.text.trim() !== "") {
			from--;
			// A paragraph may have a heading, so that the question is its end.
			const found = pattern.exec(joined(rows.slice(from, to)));
			if (!found || continuesAbove(pattern, rows, from, to)) continue;
			const text = (found[1] ?? found[0]).trim();
			return { text, from, to: endOfQuestion(pattern, rows, { text, from, to }) };
		}
		to = from;
	}
	return undefined;
}

/** Rows of the paragraph below the question belong to its details. */
function endOfQuestion(pattern: RegExp, rows: readonly TextRow[], { text, from, to }: Question): number {
	for (let end = from + 1; end < to; end++) {
		const found = pattern.exec(joined(rows.slice(from, end)));
		if ((found?.[1] ?? found?.[0])?.trim() === text) return end;
	}
	return to;
}

/** Whether the match is longer with the row above: the question wraps. */
function continuesAbove(pattern: RegExp, rows: readonly TextRow[], from: number, to: number): boolean {
	const above = rows[from - 1];
	return above !== undefined && above.text.trim() !== "" && pattern.test(joined(rows.slice(from - 1, to)));
}

function detailsOf(
	rule: DialogRule,
	rows: readonly TextRow[],
	menu: Menu,
	question: Question | undefined,
): string | null {
	const from = rule.details === "below" ? (question?.from ?? menu.from) : topOf(rows, question?.from ?? menu.from);
	const text = rows
		.slice(from, menu.from)
		.filter((_, index) => !question || from + index < question.from || from + index >= question.to)
		.map((row) => row.text)
		.join("\n")
		.replace(/\n{3,}/g, "\n\n")
		.replace(/^\n+|\s+$/g, "");
	return text === "" ? null : withoutIndent(text).slice(0, MAX_DETAILS);
}

/** The row below the nearest border that begins a dialog. */
function topOf(rows: readonly TextRow[], before: number): number {
	const least = Math.max(0, before - QUESTION_ROWS);
	for (let row = before - 1; row >= least; row--) if (rows[row]?.isTop) return row + 1;
	return before;
}

function withoutIndent(text: string): string {
	const lines = text.split("\n");
	const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
	const indent = Math.min(...indents);
	return lines.map((line) => line.slice(indent)).join("\n");
}

function stateMismatch({ rows: count, all, none = [] }: StateRule, rows: readonly TextRow[]): string | null {
	const filled = rows.filter(({ bordered, isBorder }) => !isBorder && bordered.trim() !== "");
	const text = filled
		.slice(-count)
		.map(({ bordered }) => bordered)
		.join("\n");
	const missing = all.find((pattern) => !matches(pattern, text));
	if (missing !== undefined) return `the last ${count} rows do not match ${missing}`;
	const unwanted = none.find((pattern) => matches(pattern, text));
	return unwanted === undefined ? null : `the last ${count} rows match ${unwanted}`;
}

function matches(pattern: string | undefined, text: string): boolean {
	return pattern !== undefined && patternOf(pattern).test(text);
}
