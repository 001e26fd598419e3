/** Coding agents: their state, answers to their dialogs, and prompts. */

import { agentConfidences, agentKinds, agentSignals } from "../../words/agent.ts";
import { fenceHeader } from "../messages.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";

/** In UTF-16 units. */
const CHOICE_LENGTH = 64;
const ANSWER_LENGTH = 16 * 1024;
const PROMPT_LENGTH = 256 * 1024;

export const agentState: s.Schema = s.named(
	"AgentState",
	"The state of a coding agent.",
	s.choices({
		working: "",
		blocked: "It has a dialog open and continues after an answer.",
		done: "Its turn has ended, and no user has seen that yet.",
		idle: "It waits for a prompt.",
		error: "Its turn has failed.",
	}),
);

const kind = s.named("AgentKind", "The kind of a dialog.", s.literals(...agentKinds));
const signal = s.named("AgentSignal", "The source of a state.", s.literals(...agentSignals));
const progress = s.doc("Percent, if the agent reports it.", s.nullable(s.integer(0, 100)));

const child = s.message("AgentChild", "A subagent or background task.", {
	id: s.doc("The name that the agent gave it, with `/` between levels.", s.text),
	app: s.nullable(s.text),
	state: agentState,
	kind: s.doc("With `blocked`.", s.nullable(kind)),
	title: s.nullable(s.text),
	details: s.doc("The child's own description of its state.", s.nullable(s.text)),
	progress,
	since: s.milliseconds,
});

export const agent: s.Schema = s.message(
	"AgentMessage",
	"The coding agent that a session runs, or another program that reports its state by OSC 7501.",
	{
		app: s.doc("The agent, such as `codex`, `claude-code`, `gemini`, `opencode` or `copilot`.", s.text),
		state: agentState,
		kind: s.doc("With `blocked`: the dialog's kind; null if unknown.", s.nullable(kind)),
		question: s.doc("The question of the dialog.", s.nullable(s.text)),
		details: s.doc(
			"The subject of the question, such as a command or a diff; or the agent's own description of its state.",
			s.nullable(s.text),
		),
		choices: s.doc(
			"The answers that the dialog offers, in its order. Empty until its screen has been read.",
			s.list(
				s.object({
					id: s.doc("Names the choice in an answer.", s.text),
					label: s.text,
					takesText: s.optional(s.doc("It opens a text field: answer with `text`.", s.literal(true))),
				}),
			),
		),
		progress,
		title: s.doc("The title that the agent gave its work by OSC 7501.", s.nullable(s.text)),
		children: s.doc("Subagents and background tasks. One that is blocked blocks the session.", s.list(child)),
		episode: s.doc("Number of this state or dialog. It increases. An answer names it.", s.count),
		offset: s.doc("The end of the output at that time.", s.offset),
		since: s.doc("When the state or dialog began.", s.milliseconds),
		signal,
		confidence: s.named("AgentConfidence", "How far a state can be trusted.", s.literals(...agentConfidences)),
	},
	{
		examples: [
			{
				app: "codex",
				state: "blocked",
				kind: "permission",
				question: "Would you like to run the following command?",
				details: "$ touch made-by-agent.txt",
				choices: [
					{ id: "1", label: "Yes, proceed" },
					{ id: "2", label: "No, and tell Codex what to do differently" },
				],
				progress: null,
				title: null,
				children: [],
				episode: 48_213,
				offset: 48_377,
				since: 1_789_000_004_200,
				signal: "osc7501",
				confidence: "sure",
			},
		],
	},
);

const signalState = s.message("AgentSignalState", "The state of an agent as one signal reports it.", {
	signal,
	state: agentState,
	source: s.doc("The record, title or rule that it comes from.", s.text),
	offset: s.doc("Offset in the output at which the state began.", s.offset),
	since: s.milliseconds,
});

export const agentExplanation: s.Schema = s.message(
	"AgentExplanation",
	"Why an agent has its state, or why a program is no agent.",
	{
		decisive: s.doc("The signal that decided; null without an agent.", s.nullable(signalState)),
		others: s.doc("Signals that say something else, by rank.", s.list(signalState)),
		rules: s.doc(
			"The screen rules that were tried, in order; null if no agent with rules is in front.",
			s.nullable(
				s.list(
					s.object({
						rule: s.text,
						reason: s.doc("Why it does not match; null for the one that matches.", s.nullable(s.text)),
					}),
				),
			),
		),
	},
);

const answerAgent = s.request(
	"AnswerAgent",
	"An answer to the open dialog: exactly one of `choice` and `text`.",
	{
		episode: s.doc("The `episode` of the dialog.", s.count),
		choice: s.optional(s.doc("The `id` of a choice.", s.string({ minLength: 1, maxLength: CHOICE_LENGTH }))),
		text: s.optional(
			s.doc("An answer in the caller's own words.", s.string({ minLength: 1, maxLength: ANSWER_LENGTH })),
		),
	},
	{ examples: [{ episode: 48_213, choice: "1" }] },
);

const promptAgent = s.request("PromptAgent", "A prompt for the agent.", {
	text: s.string({ minLength: 1, maxLength: PROMPT_LENGTH }),
	whenIdle: s.optional(s.doc("Keep it until the agent is idle, instead of refusing it.", s.boolean)),
});

const queuedPrompt = s.message("QueuedPrompt", "A prompt that waits until the agent is idle.", {
	id: s.text,
	text: s.text,
	by: s.doc("The caller that queued it.", s.text),
	queuedAt: s.milliseconds,
});

const agentPath = "/v1/sessions/:id";

export const agentOperations: OperationTable = {
	answerAgent: {
		summary: "Answer the dialog of a coding agent",
		route: `POST ${agentPath}/answer`,
		right: "operate",
		headers: [fenceHeader],
		body: answerAgent,
		answer: s.message("AnsweredAgent", "The dialog is gone.", { accepted: s.literal(true) }),
	},
	promptAgent: {
		summary: "Type a prompt into a coding agent and submit it",
		route: `POST ${agentPath}/prompt`,
		right: "operate",
		headers: [fenceHeader],
		body: promptAgent,
		answer: s.message("PromptedAgent", "The prompt was submitted, or is queued.", {
			submitted: s.doc("False if it is queued.", s.boolean),
			queued: s.doc("The prompt in the queue; null if it was submitted.", s.nullable(queuedPrompt)),
		}),
	},
	listPrompts: {
		summary: "List the queued prompts of a session",
		route: `GET ${agentPath}/prompts`,
		right: "read",
		answer: s.message("QueuedPrompts", "Prompts that wait until the agent is idle, oldest first.", {
			prompts: s.list(queuedPrompt),
		}),
	},
	cancelPrompt: {
		summary: "Remove a prompt from the queue",
		route: `DELETE ${agentPath}/prompts/:prompt`,
		right: "operate",
	},
};
