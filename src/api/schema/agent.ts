/** Coding agents: their state, answers to their dialogs, and prompts. */

import { agentConfidences, agentKinds, agentSignals } from "../../words/agent.ts";
import { fenceHeader } from "../messages.ts";
import {
	boolean,
	choices,
	count,
	doc,
	integer,
	list,
	literal,
	literals,
	message,
	milliseconds,
	named,
	nullable,
	object,
	offset,
	optional,
	request,
	type Schema,
	string,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";

/** In UTF-16 units. */
const CHOICE_LENGTH = 64;
const ANSWER_LENGTH = 16 * 1024;
const PROMPT_LENGTH = 256 * 1024;

export const agentState: Schema = named(
	"AgentState",
	"The state of a coding agent.",
	choices({
		working: "",
		blocked: "It has a dialog open and continues after an answer.",
		done: "Its turn has ended, and no user has seen that yet.",
		idle: "It waits for a prompt.",
		error: "Its turn has failed.",
	}),
);

const kind = named("AgentKind", "The kind of a dialog.", literals(...agentKinds));
const signal = named("AgentSignal", "The source of a state.", literals(...agentSignals));
const progress = doc("Percent, if the agent reports it.", nullable(integer(0, 100)));

const child = message("AgentChild", "A subagent or background task.", {
	id: doc("The name that the agent gave it, with `/` between levels.", text),
	app: nullable(text),
	state: agentState,
	kind: doc("With `blocked`.", nullable(kind)),
	title: nullable(text),
	details: doc("The child's own description of its state.", nullable(text)),
	progress,
	since: milliseconds,
});

export const agent: Schema = message(
	"AgentMessage",
	"The coding agent that a session runs, or another program that reports its state by OSC 7501.",
	{
		app: doc("The agent, such as `codex`, `claude-code`, `gemini`, `opencode` or `copilot`.", text),
		state: agentState,
		kind: doc("With `blocked`: the dialog's kind; null if unknown.", nullable(kind)),
		question: doc("The question of the dialog.", nullable(text)),
		details: doc(
			"The subject of the question, such as a command or a diff; or the agent's own description of its state.",
			nullable(text),
		),
		choices: doc(
			"The answers that the dialog offers, in its order. Empty until its screen has been read.",
			list(object({ id: doc("Names the choice in an answer.", text), label: text })),
		),
		progress,
		title: doc("The title that the agent gave its work by OSC 7501.", nullable(text)),
		children: doc("Subagents and background tasks. One that is blocked blocks the session.", list(child)),
		episode: doc("Number of this state or dialog. It increases. An answer names it.", count),
		offset: doc("The end of the output at that time.", offset),
		since: doc("When the state or dialog began.", milliseconds),
		signal,
		confidence: named("AgentConfidence", "How far a state can be trusted.", literals(...agentConfidences)),
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

const signalState = message("AgentSignalState", "The state of an agent as one signal reports it.", {
	signal,
	state: agentState,
	source: doc("The record, title or rule that it comes from.", text),
	offset: doc("Offset in the output at which the state began.", offset),
	since: milliseconds,
});

export const agentExplanation: Schema = message(
	"AgentExplanation",
	"Why an agent has its state, or why a program is no agent.",
	{
		decisive: doc("The signal that decided; null without an agent.", nullable(signalState)),
		others: doc("Signals that say something else, by rank.", list(signalState)),
		rules: doc(
			"The screen rules that were tried, in order; null if no agent with rules is in front.",
			nullable(
				list(
					object({
						rule: text,
						reason: doc("Why it does not match; null for the one that matches.", nullable(text)),
					}),
				),
			),
		),
	},
);

const answerAgent = request(
	"AnswerAgent",
	"An answer to the open dialog: exactly one of `choice` and `text`.",
	{
		episode: doc("The `episode` of the dialog.", count),
		choice: optional(doc("The `id` of a choice.", string({ minLength: 1, maxLength: CHOICE_LENGTH }))),
		text: optional(doc("An answer in the caller's own words.", string({ minLength: 1, maxLength: ANSWER_LENGTH }))),
	},
	{ examples: [{ episode: 48_213, choice: "1" }] },
);

const promptAgent = request("PromptAgent", "A prompt for the agent.", {
	text: string({ minLength: 1, maxLength: PROMPT_LENGTH }),
	whenIdle: optional(doc("Keep it until the agent is idle, instead of refusing it.", boolean)),
});

const queuedPrompt = message("QueuedPrompt", "A prompt that waits until the agent is idle.", {
	id: text,
	text,
	by: doc("The caller that queued it.", text),
	queuedAt: milliseconds,
});

const agentPath = "/v1/sessions/:id";

export const agentOperations: OperationTable = {
	answerAgent: {
		summary: "Answer the dialog of a coding agent",
		route: `POST ${agentPath}/answer`,
		right: "operate",
		headers: [fenceHeader],
		body: answerAgent,
		answer: message("AnsweredAgent", "The dialog is gone.", { accepted: literal(true) }),
	},
	promptAgent: {
		summary: "Type a prompt into a coding agent and submit it",
		route: `POST ${agentPath}/prompt`,
		right: "operate",
		headers: [fenceHeader],
		body: promptAgent,
		answer: message("PromptedAgent", "The prompt was submitted, or is queued.", {
			submitted: doc("False if it is queued.", boolean),
			queued: doc("The prompt in the queue; null if it was submitted.", nullable(queuedPrompt)),
		}),
	},
	listPrompts: {
		summary: "List the queued prompts of a session",
		route: `GET ${agentPath}/prompts`,
		right: "read",
		answer: message("QueuedPrompts", "Prompts that wait until the agent is idle, oldest first.", {
			prompts: list(queuedPrompt),
		}),
	},
	cancelPrompt: {
		summary: "Remove a prompt from the queue",
		route: `DELETE ${agentPath}/prompts/:prompt`,
		right: "operate",
	},
};
