/** What programs do and wait for, and what is told of all sessions. */

import type { ShellCommand } from "./acts.ts";
import type { ApprovalMessage } from "./asking.ts";
import type { ExitMessage, Overview } from "./messages.ts";

/** What a session's program does, and what it waits for. */
export type Activity =
	/** It has input that it has not read yet. */
	| "busy"
	| "running"
	/** It can't write: `key` (somebody pressed ^S), or `reader` (its output is not read). */
	| "flow-stopped"
	/** It wants something typed: a `line`, a `secret` or a `key`; or a `reply` of its terminal, which nobody types. */
	| "waiting"
	/** A shell is ready for a command. */
	| "prompt"
	/** It takes keys, among other things that it waits for, and has the screen to itself. */
	| "tui"
	/** It would take input, and goes on without. */
	| "listening"
	| "disk"
	| "stopped"
	/** It waits for something else; `kind` is what it sleeps in. */
	| "sleeping"
	/** Why it is not known: `denied`, `slow`, `relay` or `nobody`. */
	| "unknown"
	| "ended";

export type ProgramState = {
	state: Activity;
	/** More about it; see `Activity`. */
	kind: string | null;
	/** `likely` is right but for programs that do something unusual; a `guess` is made of the last line. */
	confidence: "sure" | "likely" | "guess";
	/** The process that this is about. */
	program: string | null;
	pid: number | null;
	cwd: string | null;
	/** How many processes the session has, 256 at most; not told of one that has ended, or by a keeper that is older. */
	processes?: number;
	/** The text before the cursor, which is the question when one was asked. */
	lastLine: string;
	/** Where the output ended then. */
	offset: number;
	/** Which of its waits for somebody this is, or was the latest, counted: with `offset` it says which question a secret is for. */
	episode: number;
	/** When the last byte came or went, or the program ended; milliseconds since the epoch. */
	since: number;
};

/** A program has begun to wait for somebody; `ready` is a shell that takes a command. */
export type WaitMessage = {
	type: "waiting" | "ready";
	/** Where the output ended. */
	offset: number;
	/** The line before the cursor. */
	prompt: string;
	/** Who waits. */
	program?: string;
	/** With `waiting`: for what (`line`, `secret`, `key`, `tui`). */
	kind?: string;
};

/** What the feed says of a session; `event:` is the same as `type`. */
export type FeedEvent = {
	/**
	 * `waiting` and `ready` (a shell's prompt) are told when a program begins to wait for somebody, `command` when a shell
	 * has ended one, `quiet` and `changed` to who asks for them.
	 */
	type:
		| "created"
		| "exited"
		| "closed"
		| "lost"
		| "removed"
		| "waiting"
		| "ready"
		| "command"
		| "approval"
		| "quiet"
		| "changed"
		| "secret";
	time: number;
	/** Its labels are left out if it has none. */
	session: { id: string; name: string | null; workspace: string; task?: string; labels?: Record<string, string> };
	/** With `exited`; and whether it was a failure: nobody ended it, nor left a shell. */
	exit?: ExitMessage;
	failed?: true;
	/** With `waiting`, `ready` and `quiet`: where the output ended. With the first two, what is awaited (`line`, `secret`, `key`, `tui`), the line before the cursor, and who waits. */
	offset?: number;
	kind?: string;
	prompt?: string;
	program?: string;
	/** With `command`. */
	command?: ShellCommand;
	/** With `quiet`: nothing was written for so long. */
	quietMs?: number;
	/** With `approval`: something is held, or has been decided. Told to who may operate the session, and to who asked. */
	approval?: ApprovalMessage;
	/** With `changed`. */
	overview?: Overview;
	/** With `secret`, beside what the program asks: what became of which request, and who did it, if anybody. */
	secret?: { id: string; status: "asked" | "given" | "refused" | "expired"; name: string | null; by: string | null };
};

/** What events may be asked for by; `failed` is an `exited` that is a failure, and `lost`. */
export type FeedType = FeedEvent["type"] | "failed";
