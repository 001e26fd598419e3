/** Commands in a running shell. */

import { fenceHeader, idempotencyKeyHeader, limits } from "../messages.ts";
import * as s from "./fields.ts";
import { control } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { programState } from "./states.ts";

/** Counts the commands of a session. */
const seq = s.integer(1);

const runCommand = s.request(
	"RunCommand",
	"A command to run, or to keep waiting for: exactly one of `command` and `resume`.",
	{
		command: s.optional(
			s.doc(
				"The command, also of several lines; any characters except NUL.",
				s.string({ minLength: 1, pattern: s.NO_NUL }),
			),
		),
		resume: s.optional(s.doc("The `seq` of a command that runs: keep waiting for it.", seq)),
		timeoutMs: s.optional(s.doc("How long to wait for its end, at most a minute; 30000 by default.", s.milliseconds)),
		limit: s.optional(s.doc("Length of `text`; 65536 by default.", s.integer(0, limits.maxOutputBytes))),
		since: s.optional(
			s.doc("`text` begins at this output offset, if that is after the beginning of the command.", s.offset),
		),
		partFrom: s.optional(
			s.doc(
				"Include a part of the output as bytes, from this offset on, at most 1 MiB; 0 for the first part.",
				s.offset,
			),
		),
	},
	{ examples: [{ command: "make test", timeoutMs: 60_000 }] },
);

const runPart = s.message("RunPart", "A part of a command's output. All parts in order are the whole output.", {
	from: s.doc("The output bytes of the session that it consists of.", s.offset),
	to: s.doc("The start of the next part.", s.offset),
	bytes: s.doc(
		"Base64: the bytes that the command wrote, without the marks of the shell and with \\n for \\r\\n.",
		s.text,
	),
	omitted: s.doc("Number of bytes before it that are no longer in the session's log.", s.count),
	more: s.doc("More output is available already.", s.boolean),
});

const runAnswer = s.message(
	"RunAnswer",
	"The state of a command and its output so far.",
	{
		status: s.doc(
			"`ended`; `running` after the timeout, or `waiting` for input: `resume` waits on. `incomplete` or `rejected` by the shell. `busy`: nothing was sent.",
			s.literals("ended", "running", "waiting", "incomplete", "rejected", "busy"),
		),
		why: s.doc(
			"Why it is `busy`: another `command` runs, unfinished text is `typed` at the prompt, or the shell is still `starting` and may be asked again.",
			s.nullable(s.literals("command", "typed", "starting")),
		),
		exact: s.doc(
			"The shell reported all of this. Otherwise it has no hooks: the output contains the echo and the next prompt, and the exit code is unknown.",
			s.boolean,
		),
		unhookedBy: s.doc(
			"Why a shell that supports hooks has none: its version, such as `bash 5.1`, or `readonly` for its `PS1` or `PS0`.",
			s.nullable(s.text),
		),
		seq: s.doc("The number of the command; null if none began, and without hooks.", s.nullable(seq)),
		exitCode: s.doc("Null until it has ended, after a signal, and without hooks.", s.nullable(s.number)),
		cwd: s.doc("The shell's directory afterwards.", s.nullable(s.text)),
		output: s.doc(
			"The output of the command, or the message of the shell. While it runs, up to the last whole character.",
			s.span,
		),
		text: s.doc("The output as UTF-8, with the newlines of the program and without the marks of the shell.", s.text),
		omitted: s.doc("Number of bytes before the text that neither this answer nor `since` covers.", s.count),
		part: s.doc("Null without `partFrom`.", s.nullable(runPart)),
		front: s.doc("The program in the foreground, unless the command has ended.", s.nullable(programState)),
		next: s.doc("The position of the input stream where the next command begins.", s.offset),
		...control,
	},
	{
		examples: [
			{
				status: "ended",
				why: null,
				exact: true,
				unhookedBy: null,
				seq: 3,
				exitCode: 1,
				cwd: "/srv/app",
				output: { from: 1834, to: 1846 },
				text: "no such file\n",
				omitted: 0,
				part: null,
				front: null,
				next: 27,
				takeovers: [],
				fence: 0,
			},
		],
	},
);

export const shellCommand: s.Schema = s.message("ShellCommand", "A command that a shell has run.", {
	seq: s.doc("Counts the commands of the session from 1.", seq),
	command: s.doc("Its first 1,000 characters; null if the shell did not report it.", s.nullable(s.text)),
	exitCode: s.nullable(s.number),
	cwd: s.nullable(s.text),
	output: s.doc("`to` is null while it runs.", s.object({ from: s.offset, to: s.nullable(s.offset) })),
	startedAt: s.milliseconds,
	endedAt: s.nullable(s.milliseconds),
});

export const shellOperations: OperationTable = {
	runCommand: {
		summary: "Run a command in a running shell, or keep waiting for one",
		route: "POST /v1/sessions/:id/run",
		right: "operate",
		headers: [idempotencyKeyHeader, fenceHeader],
		body: runCommand,
		answer: runAnswer,
	},
	listCommands: {
		summary: "List the commands of a shell",
		route: "GET /v1/sessions/:id/commands",
		right: "read",
		query: {
			after: s.optional(s.doc("Only commands with a larger number.", s.offset)),
			limit: s.optional(s.doc("Number of newest commands; 100 by default.", s.integer(1, limits.maxListed))),
		},
		answer: s.message("CommandList", "Commands of a shell, oldest first.", {
			commands: s.list(shellCommand),
			proven: s.doc("False if any program that writes to the terminal could have reported them.", s.boolean),
		}),
	},
};
