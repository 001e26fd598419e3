/** Screen rules for GitHub Copilot CLI. */

import type { AgentRules } from "../format.ts";

/** Continuation rows of a message, then the directory, the input and the status row. */
const TO_INPUT = "(?: {2}.*\\n)* [~/].*\\n(?:┃.*\\n)+.*· (?:/ commands|@ files)";

export const copilot: AgentRules = {
	agent: "copilot",
	programs: ["copilot"],
	tried: ["1.0.102"],
	dialogs: [
		{
			id: "copilot.trust",
			kind: "trust",
			footer: "^↑/↓ to navigate · enter to select · esc to cancel$",
			menu: "numbered",
			question: "^(Do you trust the files in this folder\\?)$",
			details: "above",
			choose: "digit",
			keys: [{ label: "^No\\b", keys: ["Escape"] }],
		},
		{
			id: "copilot.permission",
			kind: "permission",
			footer: "^↑/↓ to navigate · enter to select · esc to (?:cancel|stop)$",
			menu: "numbered",
			question: "^(?:Do you want to|Would you like to|Allow) .*\\?$",
			details: "above",
			choose: "digit",
			keys: [{ label: "^No\\b", keys: ["Escape"] }],
			allows: "^Yes$",
			denies: "^No, and tell Copilot",
		},
		{
			id: "copilot.question",
			kind: "question",
			footer: "^↑/↓ (?:to )?(?:select|navigate) · enter (?:to )?(?:accept|select).*esc (?:to )?cancel$",
			menu: "plain",
			question: "^(?:Copilot needs information\\. )?(.*\\?)$",
			details: "above",
			choose: "arrows",
			field: "^┃",
			text: { label: "^Other \\(type your answer", open: "point" },
		},
		{
			id: "copilot.login",
			kind: "login",
			footer: "^↑/↓ to navigate · enter to select$",
			menu: "numbered",
			question: "^(What account do you want to log into\\?)$",
			details: "above",
			choose: "arrows",
		},
	],
	states: [
		{ id: "copilot.working", state: "working", rows: 1, all: ["\\besc interrupt\\b|^ ?[◉◎○●] Working\\b"] },
		{ id: "copilot.error", state: "error", rows: 14, all: [`^ ?✗ (?:\\d{3}|Failed to) .*\\n${TO_INPUT}`] },
		{ id: "copilot.interrupted", state: "idle", rows: 14, all: [`^ ?● Operation cancelled.*\\n${TO_INPUT}`] },
		{ id: "copilot.done", state: "done", rows: 60, all: [`^ ?● (?!Tip:).*\\n${TO_INPUT}`] },
		{ id: "copilot.idle", state: "idle", rows: 1, all: ["· (?:/ commands|@ files)"] },
	],
	input: { mark: "^┃ ?", end: "^╹", status: "^ *[~/]\\S*(?: |$)" },
};
