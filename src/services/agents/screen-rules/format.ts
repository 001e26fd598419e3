/**
 * The format of screen rules: how the dialogs, states and input of one coding agent look. Built-in rules and the files
 * that users write have the same form; docs/agent-rules.md describes it. All patterns are regular expressions.
 */

import type { AgentKind, AgentState } from "../../../words/agent.ts";

export type AgentRules = {
	/** The name of the agent in messages. */
	readonly agent: string;
	/** Names of its processes. */
	readonly programs: readonly string[];
	/** Versions that the rules were tried with. For readers only. */
	readonly tried?: readonly string[];
	/** A panel at the right, which is no part of any dialog. */
	readonly panel?: { readonly minColumns: number; readonly columns: number };
	/** Tried in this order, before the states. The first match wins. */
	readonly dialogs: readonly DialogRule[];
	readonly states: readonly StateRule[];
	readonly input?: InputRule;
};

export type DialogRule = {
	readonly id: string;
	readonly kind: AgentKind;
	/**
	 * The text at the bottom of the screen, below the choices: up to three rows, joined by spaces. Without it, only
	 * borders may follow the choices.
	 */
	readonly footer?: string;
	/** Instead of a footer: paragraphs that may follow the choices. Each matches. */
	readonly below?: string;
	/** A text field that may be open below the footer and a border: each of its rows, with its border, matches. */
	readonly field?: string;
	/**
	 * `numbered`: `❯ 1. Yes`. `plain`: `❯ Yes`. `buttons`: side by side in one row. `none`: without choices, such as a field
	 * for a key; its question must match.
	 */
	readonly menu: "numbered" | "plain" | "buttons" | "none";
	/** With `buttons`: their labels, and what may follow them in their row. */
	readonly buttons?: readonly string[];
	readonly hints?: string;
	/** The pointed choice is marked by its background, not by a sign. */
	readonly isPointedByColor?: boolean;
	/** Rows between choices describe the choice above. Otherwise they continue its label. */
	readonly hasDescriptions?: boolean;
	/**
	 * Matches the paragraph that asks, the nearest one above the choices. Its first group, or else the match, is the
	 * question. Default: a paragraph that ends with a question mark.
	 */
	readonly question?: string;
	/** At least one choice must match. A dialog whose question has scrolled off is then still recognized. */
	readonly choice?: string;
	/** `above`: the details begin at the nearest border above the question. `below`: they begin after the question. */
	readonly details: "above" | "below";
	/** `digit`: the number alone chooses. `arrows`: arrow keys move the pointer, then Enter. */
	readonly choose: "digit" | "arrows";
	/** Keys of choices whose label matches, instead. */
	readonly keys?: readonly { readonly label: string; readonly keys: readonly string[] }[];
	/** For policies: the whole details, with the command as the first group. Without it, a person decides. */
	readonly command?: string;
	/** For policies: the labels of the choices that allow this once, and that deny it. One choice matches each. */
	readonly allows?: string;
	readonly denies?: string;
	/** The choice that opens a text field, for answers in words; with `point` as soon as the pointer is there. */
	readonly text?: { readonly label: string; readonly open: "digit" | "arrows" | "point" };
};

export type StateRule = {
	readonly id: string;
	readonly state: Exclude<AgentState, "blocked">;
	/** Number of rows from the bottom, without empty ones and horizontal borders. */
	readonly rows: number;
	/** All match the rows, which are joined by newlines. */
	readonly all: readonly string[];
	/** None matches. */
	readonly none?: readonly string[];
};

/** The field in which a prompt is typed. */
type InputRule = {
	/** The row in which the text begins, up to the text. The lowest one counts. */
	readonly mark: string;
	/** The row below the text. Without it, the agent is not ready to take a text. */
	readonly end: string;
	/** Rows above the text that show the agent's status instead of its work. Lists leave them out. */
	readonly status?: string;
};
