/** The states of sessions and programs. */

import { agent, agentExplanation } from "./agent.ts";
import {
	choices,
	count,
	doc,
	literals,
	message,
	milliseconds,
	named,
	nullable,
	number,
	offset,
	optional,
	type Schema,
	text,
} from "./fields.ts";

export const sessionState: Schema = named(
	"SessionState",
	"The state of a session.",
	choices({
		running: "The program runs.",
		exited: "The program has ended; processes that it started may still write output.",
		closed: "The output is complete.",
		lost: "The keeper ended without reporting the exit.",
	}),
);

export const exit: Schema = message("ExitMessage", "How a program ended. Exactly one of `code` and `signal` is set.", {
	code: nullable(number),
	signal: nullable(text),
	reason: optional(doc("Why the server ended the program.", literals("timeout", "idle", "killed", "oom"))),
	by: optional(doc("The caller that ended it.", text)),
});

const activity = named(
	"Activity",
	"The state of a session's program.",
	choices({
		busy: "It has not read all of its input yet.",
		running: "",
		"flow-stopped": "It can't write. `kind` is `key` after Ctrl-S, and `reader` if its output is not read.",
		waiting: "It waits for input. `kind` is `line`, `secret`, `key`, or `reply` for an answer of its terminal.",
		prompt: "A shell waits for a command.",
		tui: "It has the whole screen and waits for keys among other things.",
		listening: "It would accept input, but continues without it.",
		disk: "",
		stopped: "",
		sleeping: "It waits for something else; `kind` is the kernel function.",
		unknown: "`kind` is the reason: `denied`, `slow`, `relay` or `no-process`.",
		ended: "",
	}),
);

export const programState: Schema = message(
	"ProgramState",
	"The state of a session's program, and the input that it waits for.",
	{
		state: activity,
		kind: doc("Details of the state.", nullable(text)),
		confidence: doc(
			"`likely` is wrong only for unusual programs. `guess` is based on the last line.",
			literals("sure", "likely", "guess"),
		),
		program: doc("The process that the state describes.", nullable(text)),
		pid: nullable(number),
		cwd: nullable(text),
		processes: optional(doc("Processes of the session, at most 256. Left out once the program has ended.", count)),
		lastLine: doc("The text before the cursor. If the program has asked a question, it is here.", text),
		offset: doc("The end of the output at that time.", offset),
		episode: doc(
			"Number of the latest wait for input. With `offset` it identifies the question that a secret answers.",
			count,
		),
		since: doc("Time of the last byte in either direction, or of the program's end.", milliseconds),
		agent: optional(
			doc(
				"The coding agent, or another program that reports its state; null without one. Left out of the answers about commands in a shell.",
				nullable(agent),
			),
		),
		explanation: optional(doc("If the request asks for it.", agentExplanation)),
	},
	{
		examples: [
			{
				state: "waiting",
				kind: "line",
				confidence: "sure",
				program: "apt-get",
				pid: 4711,
				cwd: "/srv/app",
				processes: 3,
				lastLine: "Do you want to continue? [Y/n]",
				offset: 1834,
				episode: 3,
				since: 1_789_000_004_200,
			},
		],
	},
);

const waiting = message("Waiting", "A program that waits for input.", {
	kind: doc(
		"`prompt` is a shell that waits for a command, `tui` a program that has the whole screen.",
		literals("line", "secret", "key", "tui", "prompt"),
	),
	prompt: doc("The text before the cursor.", text),
	choices: optional(doc("The answers that the prompt names, such as `y` and `N`.", { type: "array", items: text })),
	since: doc("Time of the last byte in either direction before the wait.", milliseconds),
	offset: doc("The end of the output. An answer names it as `ifWaiting`.", offset),
	episode: doc("Number of this wait. A secret names it together with `offset`.", count),
	program: nullable(text),
});

export const overview: Schema = message("Overview", "Details of a session for lists.", {
	lastLine: doc(
		"The line of the cursor, or the last line that is not empty; null while a program has the whole screen.",
		nullable(text),
	),
	lastOutputAt: nullable(milliseconds),
	activity: doc(
		"Output bytes in each of the last 30 intervals of 10 s, oldest first. The last interval has not ended.",
		{ type: "array", items: number },
	),
	usualIntervalMs: doc("The usual pause between outputs; null while unknown.", nullable(milliseconds)),
	watchers: doc("Number of attached WebSocket clients.", count),
	approvals: doc("Number of actions that wait for approval.", count),
	agent: doc("The coding agent, or another program that reports its state; null without one.", nullable(agent)),
	waiting: optional(
		doc("Null if the program does not wait for input. Left out while that is unknown.", nullable(waiting)),
	),
});
