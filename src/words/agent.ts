/** Types of a coding agent's state. */

/** `done` is a finished turn that no user has seen yet. `idle` waits for a prompt. */
export type AgentState = "working" | "blocked" | "done" | "idle" | "error";

export const agentKinds = ["permission", "question", "trust", "login"] as const;

/** The kind of a dialog that blocks an agent. */
export type AgentKind = (typeof agentKinds)[number];

export const agentSignals = ["osc7501", "title", "notification", "hook", "screen"] as const;

/** The source of a state. */
export type AgentSignal = (typeof agentSignals)[number];

export const agentConfidences = ["sure", "likely"] as const;

/** An answer that a dialog offers. */
export type AgentChoice = {
	/** Names the choice in an answer: its number in the dialog, from 1. */
	readonly id: string;
	readonly label: string;
	/** It opens a text field. It is answered with a text. */
	readonly takesText?: true;
};
