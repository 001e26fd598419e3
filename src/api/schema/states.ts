/** The states of sessions and programs. */

import { activities } from "../../words/activity.ts";
import { agent, agentExplanation } from "./agent.ts";
import * as s from "./fields.ts";

export const sessionState: s.Schema = s.named(
	"SessionState",
	"The state of a session.",
	s.choices({
		running: "The program runs.",
		exited: "The program has ended; processes that it started may still write output.",
		closed: "The output is complete.",
		lost: "The keeper ended without reporting the exit.",
	}),
);

export const exit: s.Schema = s.message(
	"ExitMessage",
	"How a program ended. Exactly one of `code` and `signal` is set.",
	{
		code: s.nullable(s.number),
		signal: s.nullable(s.text),
		reason: s.optional(s.doc("Why the server ended the program.", s.literals("timeout", "idle", "killed", "oom"))),
		by: s.optional(s.doc("The caller that ended it.", s.text)),
	},
);

const activity = s.named("Activity", "The state of a session's program.", s.choices(activities));

export const programState: s.Schema = s.message(
	"ProgramState",
	"The state of a session's program, and the input that it waits for.",
	{
		state: activity,
		kind: s.doc("Details of the state.", s.nullable(s.text)),
		confidence: s.doc(
			"`likely` is wrong only for unusual programs. `guess` is based on the last line.",
			s.literals("sure", "likely", "guess"),
		),
		program: s.doc("The process that the state describes.", s.nullable(s.text)),
		pid: s.nullable(s.number),
		cwd: s.nullable(s.text),
		processes: s.optional(
			s.doc("Processes of the session, at most 256. Left out once the program has ended.", s.count),
		),
		lastLine: s.doc("The text before the cursor. If the program has asked a question, it is here.", s.text),
		offset: s.doc("The end of the output at that time.", s.offset),
		episode: s.doc(
			"Number of the latest wait for input. With `offset` it identifies the question that a secret answers.",
			s.count,
		),
		since: s.doc("Time of the last byte in either direction, or of the program's end.", s.milliseconds),
		agent: s.optional(
			s.doc(
				"The coding agent, or another program that reports its state; null without one. Left out of the answers about commands in a shell.",
				s.nullable(agent),
			),
		),
		explanation: s.optional(s.doc("If the request asks for it.", agentExplanation)),
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

const waiting = s.message("Waiting", "A program that waits for input.", {
	kind: s.doc(
		"`prompt` is a shell that waits for a command, `tui` a program that has the whole screen.",
		s.literals("line", "secret", "key", "tui", "prompt"),
	),
	prompt: s.doc("The text before the cursor.", s.text),
	choices: s.optional(
		s.doc("The answers that the prompt names, such as `y` and `N`.", { type: "array", items: s.text }),
	),
	since: s.doc("Time of the last byte in either direction before the wait.", s.milliseconds),
	offset: s.doc("The end of the output. An answer names it as `ifWaiting`.", s.offset),
	episode: s.doc("Number of this wait. A secret names it together with `offset`.", s.count),
	program: s.nullable(s.text),
});

export const overview: s.Schema = s.message("Overview", "Details of a session for lists.", {
	lastLine: s.doc(
		"The line of the cursor, or the last line that is not empty; null while a program has the whole screen. With an agent: the last row of its screen above its input.",
		s.nullable(s.text),
	),
	lastOutputAt: s.nullable(s.milliseconds),
	activeAt: s.doc("Time of the last byte in either direction; null if that is unknown.", s.nullable(s.milliseconds)),
	activity: s.doc(
		"Output bytes in each of the last 30 intervals of 10 s, oldest first. The last interval has not ended.",
		{ type: "array", items: s.number },
	),
	usualIntervalMs: s.doc("The usual pause between outputs; null while unknown.", s.nullable(s.milliseconds)),
	watchers: s.doc("Number of attached WebSocket clients.", s.count),
	approvals: s.doc("Number of actions that wait for approval.", s.count),
	prompts: s.doc("Number of prompts that wait until the agent is idle.", s.count),
	agent: s.doc("The coding agent, or another program that reports its state; null without one.", s.nullable(agent)),
	waiting: s.optional(
		s.doc(
			"Null if the program does not wait for input, or if its agent works. Left out while that is unknown.",
			s.nullable(waiting),
		),
	),
});
