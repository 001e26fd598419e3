/** Screen rules for opencode. */

import type { AgentRules } from "../format.ts";

/** Keys at the end of the row of buttons. A narrow terminal cuts them off. */
const HINTS = "^(?:ctrl\\+f|⇆|$)";

export const opencode: AgentRules = {
	agent: "opencode",
	programs: ["opencode"],
	tried: ["1.18.33"],
	panel: { minColumns: 121, columns: 42 },
	dialogs: [
		{
			id: "opencode.permission",
			kind: "permission",
			menu: "buttons",
			buttons: ["Allow once", "Allow always", "Reject"],
			hints: HINTS,
			isPointedByColor: true,
			question: "^△ (Permission required)",
			details: "below",
			// No command: opencode cuts one off without a sign, and draws nothing of it after some control characters.
			allows: "^Allow once$",
			denies: "^Reject$",
			choose: "arrows",
		},
		{
			id: "opencode.always",
			kind: "permission",
			menu: "buttons",
			buttons: ["Confirm", "Cancel"],
			hints: HINTS,
			isPointedByColor: true,
			question: "^△ (Always allow)",
			details: "below",
			choose: "arrows",
		},
		{
			id: "opencode.question",
			kind: "question",
			footer: "^↑↓ select +enter (?:submit|confirm|toggle).*esc dismiss$",
			menu: "numbered",
			isPointedByColor: true,
			hasDescriptions: true,
			question: "^(.+)$",
			details: "below",
			choose: "digit",
			text: { label: "^Type your own answer", open: "digit" },
		},
	],
	states: [
		{ id: "opencode.working", state: "working", rows: 1, all: ["\\besc (?:again to )?interrupt\\b"] },
		// A long message, such as one about a retry, pushes the hint off the screen.
		{ id: "opencode.busy", state: "working", rows: 14, all: ["^ {1,4}[■⬝]{6,8}(?![■⬝])"] },
		{
			id: "opencode.error",
			state: "error",
			rows: 16,
			// The error has a box of its own below the prompt.
			all: ["^ +┃\\n +┃\\n(?: +┃ {2}.*\\n)+ +┃\\n +▣ {2}[^·\\n]+ · [^·\\n]+\\n(?: +┃.*\\n)+.*ctrl\\+p commands"],
		},
		{
			id: "opencode.done",
			state: "done",
			rows: 16,
			all: ["^ +▣ {2}[^·\\n]+ · [^·\\n]+ · [\\d.]+ ?(?:ms|s|m).*\\n(?: +┃.*\\n)+.*ctrl\\+p commands"],
		},
		{ id: "opencode.idle", state: "idle", rows: 6, all: ["ctrl\\+p commands"] },
	],
	input: { mark: "^ *[┃│](?: {1,2}|$)", end: "^ *[╹╰]", status: "^ *▣ " },
};
