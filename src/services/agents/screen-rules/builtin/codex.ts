/** Screen rules for OpenAI's Codex CLI. */

import type { AgentRules } from "../format.ts";

/** Continuation rows of a message, then the input and the status rows at the end of the screen. */
const TO_INPUT = "(?:(?![•›✔✗■]).*\\n)*› .*(?:\\n {2}.*)*$(?![\\s\\S])";

export const codex: AgentRules = {
	agent: "codex",
	programs: ["codex"],
	tried: ["0.166.0"],
	dialogs: [
		{
			id: "codex.permission",
			kind: "permission",
			footer: "^Press enter to confirm or esc to (?:cancel|go back)$",
			menu: "numbered",
			question: "^(?:Would you like to|Do you want to|Allow) .*\\?$",
			choice: "tell Codex what to do differently|^Yes, proceed",
			command: "(?:(?!\\$ )[^\\n]*\\n)*\\$ ([^\\n]+)",
			allows: "^Yes, proceed",
			denies: "^No, and tell Codex",
			details: "below",
			choose: "digit",
		},
		{
			id: "codex.question",
			kind: "question",
			footer: "enter to submit (?:answer|all).*esc to interrupt$",
			menu: "numbered",
			hasDescriptions: true,
			question: "^Question \\d+/\\d+ \\([^)]*\\) (.+)$",
			details: "below",
			choose: "digit",
		},
		{
			id: "codex.hooks",
			kind: "trust",
			footer: "^enter confirm · esc skip$",
			menu: "numbered",
			question: "^(Hooks need review)",
			details: "below",
			choose: "arrows",
		},
		{
			id: "codex.trust",
			kind: "trust",
			footer: "^Press enter to (?:continue|confirm).*$",
			menu: "numbered",
			question: "(?:Do you trust|Would you like to trust|You are (?:running|in)) .*$",
			choice: "^(?:Yes, (?:continue|allow)|Trust|No, (?:quit|ask))",
			details: "above",
			choose: "arrows",
		},
		{
			id: "codex.update",
			kind: "question",
			footer: "^Press enter to (?:continue|confirm).*$",
			menu: "numbered",
			question: "(Update available!?.*)$",
			choice: "^(?:Update now|Skip)",
			details: "below",
			choose: "arrows",
		},
		{
			id: "codex.login",
			kind: "login",
			footer: "^Press enter to continue$",
			menu: "numbered",
			hasDescriptions: true,
			question: "^(Sign in with ChatGPT.*)$",
			choice: "^(?:Sign in with|Provide your own API key)",
			details: "above",
			choose: "arrows",
		},
		{
			id: "codex.limit",
			kind: "question",
			footer: "^Press enter to confirm or esc to (?:cancel|go back|skip)$",
			menu: "numbered",
			hasDescriptions: true,
			question: "(.*(?:rate|usage) limit.*)$",
			choice: "^(?:Switch to|Keep)",
			details: "below",
			choose: "arrows",
		},
	],
	states: [
		{ id: "codex.working", state: "working", rows: 12, all: ["\\besc to interrupt\\)?"], none: ["enter to submit"] },
		{
			id: "codex.error",
			state: "error",
			rows: 12,
			all: [`^■ (?!Conversation interrupted).+\\n${TO_INPUT}`],
		},
		{ id: "codex.interrupted", state: "idle", rows: 12, all: [`^■ Conversation interrupted.*\\n${TO_INPUT}`] },
		{ id: "codex.done", state: "done", rows: 12, all: [`^ {2}Worked for .* • \\d+:\\d+.*\\n${TO_INPUT}`] },
		{ id: "codex.start", state: "idle", rows: 3, all: ["^› .*\\n {2}\\? for shortcuts"] },
		// Before the first prompt, nothing is below a text in the input.
		{
			id: "codex.draft",
			state: "idle",
			rows: 12,
			all: ["^› (?!\\d+\\. ).*(?:\\n {2}(?!.*(?: · |⚠)).*)*$(?![\\s\\S])"],
		},
	],
	// While Codex starts, it shows a text and takes no Enter. The row with its model comes when it does.
	input: { mark: "^› ", end: "^ {2}(?:\\? for shortcuts|gpt-|.*(?: · |⏎ send|context left)).*$" },
};
