/** Sessions as a whole: start, list, describe, change, end. */

import { PRINTABLE } from "../../words/printable.ts";
import { idempotencyKeyHeader, limits } from "../messages.ts";
import * as s from "./fields.ts";
import { sessionLease } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { sandbox } from "./sandbox.ts";
import { exit, overview, sessionState } from "./states.ts";

const argument = s.string({ pattern: s.NO_NUL });
const variableName = "^[^=\\u0000]+$";
const color = s.optional(s.string({ pattern: "^#[0-9A-Fa-f]{6}$" }));
const mode = s.named("Mode", "A terminal, or pipes for stdin, stdout and stderr.", s.literals("pty", "pipe"));
const sizePolicy = s.named(
	"SizePolicy",
	"The rule for a terminal's size while several clients are attached.",
	s.choices({
		latest: "The client that attached, typed or changed its size last.",
		smallest: "The smallest of all clients.",
		fixed: "The size does not change.",
		manual: "Only requests to resize the session.",
	}),
);

const createSession = s.request(
	"CreateSession",
	"A session to start. Exactly one of `argv` and `command` is required.",
	{
		argv: s.optional(
			s.doc(
				"The program and its arguments. A name without a slash is searched in its `PATH`.",
				s.list(argument, { minItems: 1 }),
			),
		),
		command: s.optional(s.doc("A line for `/bin/sh -c`.", s.string({ minLength: 1, pattern: s.NO_NUL }))),
		cwd: s.optional(
			s.doc(
				"In a workspace with roots: one of them or below; the session then reports its real path. By default the task's directory, or the server's `--cwd`.",
				s.path,
			),
		),
		env: s.optional(
			s.doc("Variables to set, or with null to remove.", s.record(s.nullable(argument), { name: variableName })),
		),
		baseEnv: s.optional(
			s.doc("The initial environment, instead of the server's variables.", s.record(argument, { name: variableName })),
		),
		mode: s.optional(s.doc("`pty` (a terminal) if left out; `pipe` for pipes.", mode)),
		cols: s.optional(s.doc("80 if left out.", s.extent)),
		rows: s.optional(s.doc("24 if left out.", s.extent)),
		sizePolicy: s.optional(s.doc("`latest` if left out.", sizePolicy)),
		colors: s.optional(
			s.doc(
				"`foreground` and `background` as `#rrggbb`: what the session reports to the program while no attached terminal answers. By default `#d0d0d0` on `#000000`.",
				s.closed({ foreground: color, background: color }),
			),
		),
		awaitsTerminal: s.optional(
			s.doc(
				"The caller attaches a terminal at once, which answers the program from the first byte on. Without one the session answers after a second.",
				s.boolean,
			),
		),
		name: s.optional(
			s.doc(
				"Unique among running sessions of the workspace. Invisible characters are refused, except in emoji.",
				s.displayName,
			),
		),
		labels: s.optional(
			s.doc(
				"At most 32. Keys of 1 to 64 of `A-Z a-z 0-9 _ . / -`, values of at most 256 printable characters.",
				s.record(s.string({ maxLength: limits.labelLength, pattern: PRINTABLE }), {
					name: "^[A-Za-z0-9_./-]{1,64}$",
					maxProperties: limits.labels,
				}),
			),
		),
		workspace: s.optional(s.doc("`default` if left out. It need not be declared.", s.id)),
		task: s.optional(
			s.doc("A task of the workspace: its directory is the default `cwd`, and its variables come before `env`.", s.id),
		),
		timeoutMs: s.optional(s.doc("End the program after this time; 0 (the default) is never.", s.milliseconds)),
		idleTimeoutMs: s.optional(
			s.doc(
				"End it after this time without output or accepted input; 0 (the default) is never. A repeat and a new size do not count. It works without a server too.",
				s.milliseconds,
			),
		),
		idleExemptJobs: s.optional(
			s.doc(
				"A terminal is not idle while a job of its shell is in the foreground. Checked when the time is over, which then restarts. The session's own program is no job, nor is a child of a shell without job control.",
				s.boolean,
			),
		),
		durable: s.optional(s.doc("The session outlives the server. True by default.", s.boolean)),
		holdOutput: s.optional(
			s.doc(
				"Lose no output before a client with the right to operate attaches losslessly at the beginning. A program that writes more than is kept waits for it, for at most 10 s.",
				s.boolean,
			),
		),
		retain: s.optional(
			s.doc(
				"Output kept in memory and on disk (`memoryBytes`, `journalBytes`): at most 64 MiB and 4 GiB, or the server's default if that is more.",
				s.closed({ memoryBytes: s.optional(s.bytes), journalBytes: s.optional(s.bytes) }),
			),
		),
		stdin: s.optional(
			s.doc("`closed` gives a program on pipes an empty input. `open` by default.", s.literals("open", "closed")),
		),
		shellHooks: s.optional(
			s.doc(
				"Let bash, zsh or fish, started interactively or as a login shell, mark its prompts and commands, for `run` and `commands`. Not in a sandbox. True by default.",
				s.boolean,
			),
		),
		sandbox: s.optional(
			s.doc("The sandbox of the program. By default the one that the workspace requires, else none.", sandbox),
		),
	},
	{
		examples: [
			{ command: "make test" },
			{ argv: ["bash", "-l"], name: "work", cwd: "/srv/app", cols: 120, rows: 40, labels: { kind: "shell" } },
		],
	},
);

export const session: s.Schema = s.message(
	"SessionMessage",
	"A session.",
	{
		id: s.text,
		name: s.nullable(s.text),
		state: sessionState,
		argv: s.list(s.text),
		cwd: s.text,
		mode,
		size: s.size,
		sizePolicy,
		pid: s.nullable(s.number),
		offsets: s.doc(
			"The oldest output byte that can be read, and the number of bytes so far. Null while only an unreachable keeper knows them.",
			s.nullable(s.message("Offsets", "The output that can be read.", { oldest: s.offset, end: s.offset })),
		),
		exit: s.nullable(exit),
		createdAt: s.doc("Milliseconds since the epoch.", s.milliseconds),
		endedAt: s.nullable(s.milliseconds),
		attachments: s.doc("Number of readers that follow the session.", s.count),
		unreachable: s.optional(
			s.doc("The keeper is not responding. The other fields are the last known values.", s.literal(true)),
		),
		lease: sessionLease,
		activeAt: s.doc("Time of the last byte in either direction; null if that is unknown.", s.nullable(s.milliseconds)),
		labels: s.record(s.text),
		workspace: s.text,
		task: s.doc("The task that it was started for.", s.nullable(s.text)),
		durable: s.boolean,
		retain: s.message("Retain", "How much output is kept.", { memoryBytes: s.bytes, journalBytes: s.bytes }),
		timeoutMs: s.milliseconds,
		idleTimeoutMs: s.milliseconds,
		idleExemptJobs: s.boolean,
		overview: s.optional(s.doc("Only if the request asks for it.", overview)),
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

const sessionList = s.message("SessionList", "A page of sessions.", {
	sessions: s.list(session),
	next: s.doc("`after` of the next page; null if this is the last.", s.nullable(s.text)),
});

const withOverview = s.doc("Include the `overview` of each session.", s.flag);
const killSignal = s.string({ pattern: "^(SIG)?[A-Z][A-Z0-9+]{1,15}$", expected: "a name such as TERM" });
const ending = {
	signal: s.optional(
		s.doc(
			"The first signal, such as `TERM` or `SIGINT`; by default a hang-up for a terminal, TERM for pipes.",
			killSignal,
		),
	),
	graceMs: s.optional(s.doc("Time until SIGKILL.", s.integer(0, limits.maxGraceMs))),
};

const updateSession = s.request(
	"UpdateSession",
	"Changes to a session, at least one.",
	{ name: s.optional(s.doc("Null removes the name.", s.nullable(s.displayName))), sizePolicy: s.optional(sizePolicy) },
	{ minProperties: 1 },
);
const killSession = s.request("KillSession", "How to end a program and all processes that it started.", ending);
const detachSession = s.request("DetachSession", "Which clients to detach.", {
	keepWriter: s.optional(s.doc("Keep the client that typed last.", s.boolean)),
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
			state: s.optional(s.doc("Only these states.", s.list(sessionState))),
			workspace: s.optional(s.doc("Only sessions of this workspace.", s.text)),
			task: s.optional(s.doc("Only sessions started for this task.", s.text)),
			name: s.optional(
				s.doc("Only sessions with exactly this name: one that runs, and any number that ended.", s.text),
			),
			label: s.optional(s.doc("`key` or `key=value`. All must match.", s.list(s.text))),
			order: s.optional(s.doc("Which come first; `oldest` by default.", s.literals("oldest", "newest"))),
			after: s.optional(
				s.doc("`next` of the previous page. If that session is gone: 400, then list again from the start.", s.text),
			),
			limit: s.optional(s.doc("Sessions per page; 100 by default.", s.integer(1, limits.maxListed))),
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
		body: s.optional(killSession),
		answer: session,
	},
	deleteSession: {
		summary: "End and remove a session",
		route: "DELETE /v1/sessions/:id",
		right: "manage",
		query: { force: s.doc("Also remove a session whose keeper does not respond.", s.flag), ...ending },
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
		answer: s.message("AttachedList", "Clients attached by WebSocket, in the order in which they attached.", {
			attached: s.list(
				s.message("AttachedMessage", "An attached client.", {
					name: s.doc("The name of its caller.", s.text),
					since: s.doc("Milliseconds since the epoch.", s.milliseconds),
				}),
			),
		}),
	},
	detachAll: {
		summary: "Detach all clients from a session",
		route: "POST /v1/sessions/:id/detach",
		right: "operate",
		body: s.optional(detachSession),
		answer: s.message("Detached", "The result of detaching clients.", {
			detached: s.doc("Number of clients that were detached.", s.count),
		}),
	},
};
