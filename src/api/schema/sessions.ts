/** Sessions as a whole: start, list, describe, change, end. */

import { PRINTABLE } from "../../words/printable.ts";
import { idempotencyKeyHeader, limits } from "../messages.ts";
import {
	boolean,
	bytes,
	choices,
	closed,
	count,
	displayName,
	doc,
	extent,
	flag,
	id,
	integer,
	list,
	literal,
	literals,
	message,
	milliseconds,
	NO_NUL,
	named,
	nullable,
	number,
	offset,
	optional,
	path,
	record,
	request,
	type Schema,
	size,
	string,
	text,
} from "./fields.ts";
import { sessionLease } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { sandbox } from "./sandbox.ts";
import { exit, overview, sessionState } from "./states.ts";

const argument = string({ pattern: NO_NUL });
const variableName = "^[^=\\u0000]+$";
const color = optional(string({ pattern: "^#[0-9A-Fa-f]{6}$" }));
const mode = named("Mode", "A terminal, or pipes for stdin, stdout and stderr.", literals("pty", "pipe"));
const sizePolicy = named(
	"SizePolicy",
	"The rule for a terminal's size while several clients are attached.",
	choices({
		latest: "The client that attached, typed or changed its size last.",
		smallest: "The smallest of all clients.",
		fixed: "The size does not change.",
		manual: "Only requests to resize the session.",
	}),
);

const createSession = request(
	"CreateSession",
	"A session to start. Exactly one of `argv` and `command` is required.",
	{
		argv: optional(
			doc(
				"The program and its arguments. A name without a slash is searched in its `PATH`.",
				list(argument, { minItems: 1 }),
			),
		),
		command: optional(doc("A line for `/bin/sh -c`.", string({ minLength: 1, pattern: NO_NUL }))),
		cwd: optional(
			doc(
				"In a workspace with roots: one of them or below; the session then reports its real path. By default the task's directory, or the server's `--cwd`.",
				path,
			),
		),
		env: optional(doc("Variables to set, or with null to remove.", record(nullable(argument), { name: variableName }))),
		baseEnv: optional(
			doc("The initial environment, instead of the server's variables.", record(argument, { name: variableName })),
		),
		mode: optional(doc("`pty` (a terminal) if left out; `pipe` for pipes.", mode)),
		cols: optional(doc("80 if left out.", extent)),
		rows: optional(doc("24 if left out.", extent)),
		sizePolicy: optional(doc("`latest` if left out.", sizePolicy)),
		colors: optional(
			doc(
				"`foreground` and `background` as `#rrggbb`: what the session reports to the program while no attached terminal answers. By default `#d0d0d0` on `#000000`.",
				closed({ foreground: color, background: color }),
			),
		),
		awaitsTerminal: optional(
			doc(
				"The caller attaches a terminal at once, which answers the program from the first byte on. Without one the session answers after a second.",
				boolean,
			),
		),
		name: optional(
			doc(
				"Unique among running sessions of the workspace. Invisible characters are refused, except in emoji.",
				displayName,
			),
		),
		labels: optional(
			doc(
				"At most 32. Keys of 1 to 64 of `A-Z a-z 0-9 _ . / -`, values of at most 256 printable characters.",
				record(string({ maxLength: limits.labelLength, pattern: PRINTABLE }), {
					name: "^[A-Za-z0-9_./-]{1,64}$",
					maxProperties: limits.labels,
				}),
			),
		),
		workspace: optional(doc("`default` if left out. It need not be declared.", id)),
		task: optional(
			doc("A task of the workspace: its directory is the default `cwd`, and its variables come before `env`.", id),
		),
		timeoutMs: optional(doc("End the program after this time; 0 (the default) is never.", milliseconds)),
		idleTimeoutMs: optional(
			doc(
				"End it after this time without output or accepted input; 0 (the default) is never. A repeat and a new size do not count. It works without a server too.",
				milliseconds,
			),
		),
		idleExemptJobs: optional(
			doc(
				"A terminal is not idle while a job of its shell is in the foreground. Checked when the time is over, which then restarts. The session's own program is no job, nor is a child of a shell without job control.",
				boolean,
			),
		),
		durable: optional(doc("The session outlives the server. True by default.", boolean)),
		holdOutput: optional(
			doc(
				"Lose no output before a client with the right to operate attaches losslessly at the beginning. A program that writes more than is kept waits for it, for at most 10 s.",
				boolean,
			),
		),
		retain: optional(
			doc(
				"Output kept in memory and on disk (`memoryBytes`, `journalBytes`): at most 64 MiB and 4 GiB, or the server's default if that is more.",
				closed({ memoryBytes: optional(bytes), journalBytes: optional(bytes) }),
			),
		),
		stdin: optional(
			doc("`closed` gives a program on pipes an empty input. `open` by default.", literals("open", "closed")),
		),
		shellHooks: optional(
			doc(
				"Let bash, zsh or fish, started interactively or as a login shell, mark its prompts and commands, for `run` and `commands`. Not in a sandbox. True by default.",
				boolean,
			),
		),
		sandbox: optional(
			doc("The sandbox of the program. By default the one that the workspace requires, else none.", sandbox),
		),
	},
	{
		examples: [
			{ command: "make test" },
			{ argv: ["bash", "-l"], name: "work", cwd: "/srv/app", cols: 120, rows: 40, labels: { kind: "shell" } },
		],
	},
);

export const session: Schema = message(
	"SessionMessage",
	"A session.",
	{
		id: text,
		name: nullable(text),
		state: sessionState,
		argv: list(text),
		cwd: text,
		mode,
		size,
		sizePolicy,
		pid: nullable(number),
		offsets: doc(
			"The oldest output byte that can be read, and the number of bytes so far. Null while only an unreachable keeper knows them.",
			nullable(message("Offsets", "The output that can be read.", { oldest: offset, end: offset })),
		),
		exit: nullable(exit),
		createdAt: doc("Milliseconds since the epoch.", milliseconds),
		endedAt: nullable(milliseconds),
		attachments: doc("Number of readers that follow the session.", count),
		unreachable: optional(
			doc("The keeper is not responding. The other fields are the last known values.", literal(true)),
		),
		lease: sessionLease,
		activeAt: doc("Time of the last byte in either direction; null if that is unknown.", nullable(milliseconds)),
		labels: record(text),
		workspace: text,
		task: doc("The task that it was started for.", nullable(text)),
		durable: boolean,
		retain: message("Retain", "How much output is kept.", { memoryBytes: bytes, journalBytes: bytes }),
		timeoutMs: milliseconds,
		idleTimeoutMs: milliseconds,
		idleExemptJobs: boolean,
		overview: optional(doc("Only if the request asks for it.", overview)),
	},
	{
		examples: [
			{
				id: "k3v9x0q2m4abt7w1dz",
				name: "build",
				state: "running",
				argv: ["make", "test"],
				cwd: "/srv/app",
				mode: "pty",
				size: { cols: 80, rows: 24 },
				sizePolicy: "latest",
				pid: 4711,
				offsets: { oldest: 0, end: 1834 },
				exit: null,
				createdAt: 1_789_000_000_000,
				endedAt: null,
				attachments: 0,
				lease: { fence: 0, holder: null, exclusive: false },
				activeAt: 1_789_000_004_200,
				labels: { kind: "ci" },
				workspace: "default",
				task: null,
				durable: true,
				retain: { memoryBytes: 1_048_576, journalBytes: 67_108_864 },
				timeoutMs: 0,
				idleTimeoutMs: 0,
				idleExemptJobs: false,
			},
		],
	},
);

const sessionList = message("SessionList", "A page of sessions.", {
	sessions: list(session),
	next: doc("`after` of the next page; null if this is the last.", nullable(text)),
});

const withOverview = doc("Include the `overview` of each session.", flag);
const killSignal = string({ pattern: "^(SIG)?[A-Z][A-Z0-9+]{1,15}$", expected: "a name such as TERM" });
const ending = {
	signal: optional(
		doc(
			"The first signal, such as `TERM` or `SIGINT`; by default a hang-up for a terminal, TERM for pipes.",
			killSignal,
		),
	),
	graceMs: optional(doc("Time until SIGKILL.", integer(0, limits.maxGraceMs))),
};

const updateSession = request(
	"UpdateSession",
	"Changes to a session, at least one.",
	{ name: optional(doc("Null removes the name.", nullable(displayName))), sizePolicy: optional(sizePolicy) },
	{ minProperties: 1 },
);
const killSession = request("KillSession", "How to end a program and all processes that it started.", ending);
const detachSession = request("DetachSession", "Which clients to detach.", {
	keepWriter: optional(doc("Keep the client that typed last.", boolean)),
});

export const sessionOperations: OperationTable = {
	createSession: {
		summary: "Start a program",
		route: "POST /v1/sessions",
		right: "manage",
		startsProgram: true,
		headers: [idempotencyKeyHeader],
		body: createSession,
		answer: session,
		status: 201,
		answerHeaders: ["location"],
	},
	listSessions: {
		summary: "List sessions",
		route: "GET /v1/sessions",
		right: "read",
		query: {
			state: optional(doc("Only these states.", list(sessionState))),
			workspace: optional(doc("Only sessions of this workspace.", text)),
			task: optional(doc("Only sessions started for this task.", text)),
			name: optional(doc("Only sessions with exactly this name: one that runs, and any number that ended.", text)),
			label: optional(doc("`key` or `key=value`. All must match.", list(text))),
			order: optional(doc("Which come first; `oldest` by default.", literals("oldest", "newest"))),
			after: optional(
				doc("`next` of the previous page. If that session is gone: 400, then list again from the start.", text),
			),
			limit: optional(doc("Sessions per page; 100 by default.", integer(1, limits.maxListed))),
			overview: withOverview,
		},
		answer: sessionList,
	},
	getSession: {
		summary: "Describe a session",
		route: "GET /v1/sessions/:id",
		right: "read",
		query: { overview: withOverview },
		answer: session,
	},
	updateSession: {
		summary: "Change a session's name or size policy",
		route: "PATCH /v1/sessions/:id",
		right: "manage",
		body: updateSession,
		answer: session,
	},
	killSession: {
		summary: "End a session's program, and keep the session",
		route: "POST /v1/sessions/:id/kill",
		right: "manage",
		body: optional(killSession),
		answer: session,
	},
	deleteSession: {
		summary: "End and remove a session",
		route: "DELETE /v1/sessions/:id",
		right: "manage",
		query: { force: doc("Also remove a session whose keeper does not respond.", flag), ...ending },
	},
	attachSession: {
		summary: "Attach by WebSocket (hawser.v1)",
		route: "GET /v1/sessions/:id/attach",
		right: "read",
		isSocket: true,
		status: 101,
	},
	listAttached: {
		summary: "List the clients attached to a session",
		route: "GET /v1/sessions/:id/attachments",
		right: "operate",
		answer: message("AttachedList", "Clients attached by WebSocket, in the order in which they attached.", {
			attached: list(
				message("AttachedMessage", "An attached client.", {
					name: doc("The name of its caller.", text),
					since: doc("Milliseconds since the epoch.", milliseconds),
				}),
			),
		}),
	},
	detachAll: {
		summary: "Detach all clients from a session",
		route: "POST /v1/sessions/:id/detach",
		right: "operate",
		body: optional(detachSession),
		answer: message("Detached", "The result of detaching clients.", {
			detached: doc("Number of clients that were detached.", count),
		}),
	},
};
