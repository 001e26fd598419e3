/** Commands in a running shell. */

import { fenceHeader, idempotencyKeyHeader, limits } from "../messages.ts";
import {
	boolean,
	count,
	doc,
	integer,
	list,
	literals,
	message,
	milliseconds,
	NO_NUL,
	nullable,
	number,
	object,
	offset,
	optional,
	request,
	type Schema,
	span,
	string,
	text,
} from "./fields.ts";
import { control } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { programState } from "./states.ts";

/** Counts the commands of a session. */
const seq = integer(1);

const runCommand = request(
	"RunCommand",
	"A command to run, or to keep waiting for: exactly one of `command` and `resume`.",
	{
		command: optional(
			doc("The command, also of several lines; any characters except NUL.", string({ minLength: 1, pattern: NO_NUL })),
		),
		resume: optional(doc("The `seq` of a command that runs: keep waiting for it.", seq)),
		timeoutMs: optional(doc("How long to wait for its end, at most a minute; 30000 by default.", milliseconds)),
		limit: optional(doc("Length of `text`; 65536 by default.", integer(0, limits.maxOutputBytes))),
		since: optional(doc("`text` begins at this output offset, if that is after the beginning of the command.", offset)),
		partFrom: optional(
			doc("Include a part of the output as bytes, from this offset on, at most 1 MiB; 0 for the first part.", offset),
		),
	},
	{ examples: [{ command: "make test", timeoutMs: 60_000 }] },
);

const runPart = message("RunPart", "A part of a command's output. All parts in order are the whole output.", {
	from: doc("The output bytes of the session that it consists of.", offset),
	to: doc("The start of the next part.", offset),
	bytes: doc("Base64: the bytes that the command wrote, without the marks of the shell and with \\n for \\r\\n.", text),
	omitted: doc("Number of bytes before it that are no longer in the session's log.", count),
	more: doc("More output is available already.", boolean),
});

const runAnswer = message(
	"RunAnswer",
	"The state of a command and its output so far.",
	{
		status: doc(
			"`ended`; `running` after the timeout, or `waiting` for input: `resume` waits on. `incomplete` or `rejected` by the shell. `busy`: nothing was sent.",
			literals("ended", "running", "waiting", "incomplete", "rejected", "busy"),
		),
		why: doc(
			"Why it is `busy`: another `command` runs, unfinished text is `typed` at the prompt, or the shell is still `starting` and may be asked again.",
			nullable(literals("command", "typed", "starting")),
		),
		exact: doc(
			"The shell reported all of this. Otherwise it has no hooks: the output contains the echo and the next prompt, and the exit code is unknown.",
			boolean,
		),
		unhookedBy: doc(
			"Why a shell that supports hooks has none: its version, such as `bash 5.1`, or `readonly` for its `PS1` or `PS0`.",
			nullable(text),
		),
		seq: doc("The number of the command; null if none began, and without hooks.", nullable(seq)),
		exitCode: doc("Null until it has ended, after a signal, and without hooks.", nullable(number)),
		cwd: doc("The shell's directory afterwards.", nullable(text)),
		output: doc(
			"The output of the command, or the message of the shell. While it runs, up to the last whole character.",
			span,
		),
		text: doc("The output as UTF-8, with the newlines of the program and without the marks of the shell.", text),
		omitted: doc("Number of bytes before the text that neither this answer nor `since` covers.", count),
		part: doc("Null without `partFrom`.", nullable(runPart)),
		front: doc("The program in the foreground, unless the command has ended.", nullable(programState)),
		next: doc("The position of the input stream where the next command begins.", offset),
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

export const shellCommand: Schema = message("ShellCommand", "A command that a shell has run.", {
	seq: doc("Counts the commands of the session from 1.", seq),
	command: doc("Its first 1,000 characters; null if the shell did not report it.", nullable(text)),
	exitCode: nullable(number),
	cwd: nullable(text),
	output: doc("`to` is null while it runs.", object({ from: offset, to: nullable(offset) })),
	startedAt: milliseconds,
	endedAt: nullable(milliseconds),
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
			after: optional(doc("Only commands with a larger number.", offset)),
			limit: optional(doc("Number of newest commands; 100 by default.", integer(1, limits.maxListed))),
		},
		answer: message("CommandList", "Commands of a shell, oldest first.", {
			commands: list(shellCommand),
			proven: doc("False if any program that writes to the terminal could have reported them.", boolean),
		}),
	},
};
