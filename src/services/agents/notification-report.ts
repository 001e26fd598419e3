/**
 * The state of an agent as its last notification (OSC 9, 99 or 777) tells it.
 *
 * A notification tells of a moment, and no other follows when the state ends. So it counts until a later title or screen
 * shows another state. Like a title, it belongs to the agent that was in front when it came.
 */

import type { TerminalSignals } from "../../core/terminal/terminal-signals.ts";
import type { AgentKind, AgentState } from "../../words/agent.ts";
import { type AgentReport, stageOf } from "./agent-state.ts";
import { visibleText } from "./status-report.ts";

type NotificationRule = {
	readonly text: RegExp;
	readonly state: AgentState;
	readonly kind?: AgentKind;
};

/** By agent. A notice that an agent has been idle for a while, such as Claude Code's after 60 s, has no rule. */
const RULES: Readonly<Record<string, readonly NotificationRule[]>> = {
	codex: [
		{ text: /^Approval requested\b/, state: "blocked", kind: "permission" },
		{ text: /^Codex wants to edit /, state: "blocked", kind: "permission" },
		{ text: /^(?:Plan mode prompt|Question requested)\b/, state: "blocked", kind: "question" },
		{ text: /^Agent turn complete$/, state: "done" },
	],
	gemini: [
		{ text: /^Gemini CLI needs your attention\b/, state: "blocked" },
		{ text: /^Gemini CLI session complete\b/, state: "done" },
	],
	opencode: [
		{ text: /\bPermission needs input$/, state: "blocked", kind: "permission" },
		{ text: /\bQuestion needs input$/, state: "blocked", kind: "question" },
		{ text: /\bSession done$/, state: "done" },
		{ text: /\b(?:Session error|Model stopped responding)$/, state: "error" },
	],
	"claude-code": [
		{ text: /\bClaude needs your permission\b/, state: "blocked", kind: "permission" },
		{ text: /\bneeds your input\b/, state: "blocked", kind: "question" },
	],
};

/** Null for a notification that says nothing. `app` is the agent in front. */
export function notificationReport(
	{ notification, foreground }: Pick<TerminalSignals, "notification" | "foreground">,
	app: string | undefined,
): AgentReport | null {
	if (!notification || app === undefined || notification.foreground === null) return null;
	if (notification.foreground !== foreground) return null;
	const rule = RULES[app]?.find(({ text }) => text.test(notification.text));
	if (!rule) return null;
	const { state, kind = null } = rule;
	return {
		signal: "notification",
		app,
		state,
		kind,
		question: state === "blocked" ? visibleText(notification.text) : null,
		details: null,
		choices: [],
		progress: null,
		title: null,
		children: [],
		offset: notification.offset,
		since: notification.at,
		source: notification.text.trim(),
	};
}

/** Whether one of these reports shows that what the notification told of has ended. */
export function isOutdated(notification: AgentReport, others: readonly (AgentReport | null)[]): boolean {
	return others.some(
		(other) => other && other.offset > notification.offset && stageOf(other.state) !== stageOf(notification.state),
	);
}
