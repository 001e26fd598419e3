/** Screen rules for Google's Gemini CLI. */

import type { AgentRules } from "../format.ts";

/** The input, with its placeholder or with text. */
const INPUT = " [>*!] {1,3}(?:Type your message|\\S.*\\n(?: {3}.*\\n)* workspace )";

/** Paragraphs below the ways to sign in: the state of that, and a note. */
const LOGIN_NOTES =
	"^(?:No authentication method selected\\.|(?:Failed|Error|Authentication|Invalid)\\b.*|\\(Use Enter to select\\)" +
	"|Terms of Services and Privacy Notice for Gemini CLI|https://geminicli\\.com/\\S+)$";

export const gemini: AgentRules = {
	agent: "gemini",
	programs: ["gemini"],
	tried: ["0.61.0"],
	dialogs: [
		{
			id: "gemini.question",
			kind: "question",
			footer: "^Enter to (?:select|submit) · .*Esc to cancel$",
			menu: "numbered",
			hasDescriptions: true,
			question: "^(.+)$",
			details: "above",
			choose: "digit",
			text: { label: "^Enter a custom value", open: "digit" },
		},
		{
			id: "gemini.permission",
			kind: "permission",
			menu: "numbered",
			question: "^(?:Allow execution of|Apply this change|Do you want to|Allow) ?.*\\?$",
			choice: "^(?:Allow once|Yes, allow once|No, suggest changes)",
			details: "above",
			command: "\\? Shell {2}([^\\n]+)\\n\\n *\\1",
			allows: "^Allow once$",
			denies: "^No, suggest changes",
			choose: "digit",
		},
		{
			id: "gemini.trust",
			kind: "trust",
			menu: "numbered",
			question: "^Do you trust the files in this folder\\?$",
			choice: "^Trust folder",
			details: "above",
			choose: "digit",
		},
		{
			id: "gemini.login",
			kind: "login",
			below: LOGIN_NOTES,
			menu: "numbered",
			question: "^(How would you like to authenticate for this project\\?)$",
			choice: "^(?:Sign in with Google|Use Gemini API Key)$",
			details: "above",
			choose: "arrows",
		},
		{
			id: "gemini.login-browser",
			kind: "login",
			footer: "^Enter the authorization code:.*$",
			menu: "none",
			question: "^(Please visit the following URL to authorize the application:)",
			details: "below",
			choose: "arrows",
		},
		{
			id: "gemini.login-key",
			kind: "login",
			footer: "^\\(Press Enter to submit, Esc to cancel, .*\\)$",
			menu: "none",
			question: "^(Enter Gemini API Key)$",
			details: "below",
			choose: "arrows",
		},
		{
			id: "gemini.limit",
			kind: "question",
			menu: "numbered",
			question: "^(Usage limit reached for .+?\\.)(?: /stats .*)?$",
			choice: "^(?:Keep trying|Switch to|Stop)",
			details: "above",
			choose: "arrows",
		},
	],
	states: [
		{
			id: "gemini.working",
			state: "working",
			rows: 10,
			all: ["^ *[\\u2800-\\u28ff] .*\\(esc to cancel(?:, [\\dhms ]+)?\\)"],
		},
		{
			id: "gemini.error",
			state: "error",
			rows: 14,
			all: [
				"^ ?✕ (?:(?! ?(?:>|✦|✕) ).*\\n)*?(?:ℹ This request failed.*\\n)?(?:(?! ?(?:✦|✕) | ?> (?! )).*\\n)* [>*!] {3}",
			],
		},
		{
			id: "gemini.interrupted",
			state: "idle",
			rows: 10,
			all: ["^ ?ℹ Request cancelled\\.\\n(?:(?! ?(?:✦|✕) ).*\\n)* [>*!] {3}"],
		},
		{
			id: "gemini.done",
			state: "done",
			rows: 40,
			all: [`^ ?✦ (?:(?! ?(?:ℹ|✕|▸) ?|.*│| ?> (?! )).*\\n)*${INPUT}`],
		},
		{ id: "gemini.idle", state: "idle", rows: 5, all: [`^${INPUT}`] },
	],
	input: {
		mark: "^ [>*!] {1,3}",
		end: "^ ?[▀▄─]{10,}|^ workspace ",
		status: "^ *(?:Shift\\+Tab to |\\? for shortcuts)|\\(esc to cancel, ",
	},
};
