/** The state of an agent as its screen shows it. */

import type { AgentChoice } from "../../words/agent.ts";
import type { AgentReport } from "./agent-state.ts";
import type { Dialog } from "./screen-rules/read-screen.ts";
import type { AgentOnScreen } from "./screen-watch.ts";

/** Null without an agent in front, or if no rule matches. `before` is the last report. */
export function screenReport(
	found: AgentOnScreen | null,
	{ before, now }: { readonly before: AgentReport | null; readonly now: number },
): AgentReport | null {
	if (!found?.reading) return null;
	const { app, rule, state, dialog } = found.reading;
	const content = {
		app,
		state,
		kind: dialog?.kind ?? null,
		question: dialog?.question ?? null,
		details: dialog?.details ?? null,
		choices: dialog ? choicesOf(dialog) : [],
	};
	const isSame = before !== null && Object.entries(content).every(([key, value]) => isEqual(before, key, value));
	return {
		...content,
		signal: "screen",
		progress: null,
		title: null,
		children: [],
		offset: isSame ? before.offset : found.screen.offset,
		since: isSame ? before.since : now,
		source: rule,
	};
}

function choicesOf({ choices, rule }: Dialog): AgentChoice[] {
	const { text: field } = rule;
	return choices.map(({ id, label }) => {
		const isField = field !== undefined && new RegExp(field.label, "u").test(label);
		return { id, label, ...(isField ? { takesText: true as const } : {}) };
	});
}

function isEqual(before: AgentReport, key: string, value: unknown): boolean {
	return JSON.stringify((before as Readonly<Record<string, unknown>>)[key]) === JSON.stringify(value);
}
