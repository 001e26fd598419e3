/**
 * The state of an agent as the title of its terminal shows it.
 *
 * Anyone may set a title, and it outlives its program: it counts only if the agent was in front when it was set, and
 * still is.
 */

import type { TerminalSignals } from "../../core/terminal/terminal-signals.ts";
import type { AgentState } from "../../words/agent.ts";
import type { AgentReport } from "./agent-state.ts";

type TitleRule = { readonly title: RegExp; readonly state: AgentState };

/** By agent. A spinner stands before the name of the directory or the topic. */
const RULES: Readonly<Record<string, readonly TitleRule[]>> = {
	codex: [
		{ title: /^\[ [!.] \] Action Required\b/, state: "blocked" },
		{ title: /^[\u2801-\u28ff] /, state: "working" },
	],
	gemini: [
		{ title: /^✋\s+Action Required\b/, state: "blocked" },
		{ title: /^✦\s+\S/, state: "working" },
		{ title: /^◇\s+Ready\b/, state: "idle" },
	],
	"claude-code": [{ title: /^[\u2801-\u28ff◐◓◑◒] /, state: "working" }],
};

/** Null for a title that says nothing. `app` is the agent in front. */
export function titleReport(
	{ title, foreground }: Pick<TerminalSignals, "title" | "foreground">,
	app: string | undefined,
): AgentReport | null {
	if (!title || app === undefined || title.foreground === null || title.foreground !== foreground) return null;
	const rule = RULES[app]?.find((one) => one.title.test(title.text));
	if (!rule) return null;
	return {
		signal: "title",
		app,
		state: rule.state,
		kind: null,
		question: null,
		details: null,
		choices: [],
		progress: null,
		title: null,
		children: [],
		offset: title.offset,
		since: title.at,
		source: title.text.trim(),
	};
}
