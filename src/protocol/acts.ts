/** What is done to a session: typed, run, signalled, resized, and who may. */

import type { ProgramState } from "./feed.ts";
import type { ExitMessage } from "./messages.ts";

/** How far an input stream has come: `next` is the position wanted, `written` what the program's side took. */
export type InputReceipt = { next: number; written: number };

/** Keys to press, by name (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type as it is: `text:ls -l`. */
export type SendKeys = { keys: string[] };

export type Resize = { cols: number; rows: number };

/** Demands control over HTTP. Who has it shows its fence with every act, and gives it back, or lets its time run out. */
export type TakeLease = {
	/** Whether nobody else may write meanwhile. True, if left out. */
	exclusive?: boolean;
	/** Also from somebody who has it exclusively. */
	force?: boolean;
	/** How long it is held; a minute, if left out. */
	ttlMs?: number;
	/** Of a lease that the caller has: it is held for longer, and stays the same. */
	fence?: number;
};

export type SessionLease = { fence: number; holder: string | null; exclusive: boolean };

/** A name such as `INT` or `SIGTERM`; urgent overtakes input that the program has not read. */
export type SendSignal = { signal: string; urgent?: boolean };

/** What somebody did who had control exclusively: the output of that time, and how many commands the shell began. */
export type TakeoverMessage = { holder: string; from: number; to: number; commands: number };

/** In what a session answers to whoever works with it. */
export type ControlMessage = {
	/** Who had control since the last call of this caller, oldest first. */
	takeovers: TakeoverMessage[];
	/** Of the lease now. A call that shows it is refused once control has changed hands. */
	fence: number;
};

/** Types something, waits for the first of several causes, and reads what was written since. */
export type SendInput = {
	/** Exactly as it is; then the keys, as for `SendKeys`. */
	text?: string;
	/** As a terminal pastes it instead: Enter for newlines, between marks if the program asks for them. */
	paste?: boolean;
	keys?: string[];
	/** What ends the wait; that the program has ended always does. */
	until?: {
		/** This text is in the new output, as a person sees it; with `regex` an expression, which matches within a line. */
		match?: string;
		regex?: boolean;
		ignoreCase?: boolean;
		/** Nothing was written for so long. */
		idleMs?: number;
		/** What the terminal shows is the same for so long. */
		stableMs?: number;
		/** The program waits for somebody to type. */
		input?: boolean;
		/** The shell is at its prompt. */
		end?: boolean;
	};
	/** 30 s, if left out, and a minute at most; that it is over is no error. */
	timeoutMs?: number;
	/** How long the text may be, in bytes. */
	limit?: number;
};

export type SendAnswer = ControlMessage & {
	/** What ended the wait. */
	cause: "match" | "idle" | "stable" | "input" | "end" | "exit" | "timeout";
	/** What was written since before the first byte was typed. */
	output: { from: number; to: number };
	/** The same as small text, as `?as=text` gives it; and the bytes in the middle that it says nothing of. */
	text: string;
	omitted: { from: number; to: number } | null;
	/** What the program does after the wait. */
	state: ProgramState;
	exit: ExitMessage | null;
	/** How far the input stream is. */
	next: number;
};

/** Runs a command in the shell that a session is, or goes on waiting for one: exactly one of `command` and `resume`. */
export type RunCommand = {
	command?: string;
	/** The number of a command. */
	resume?: number;
	/** How long it is waited for: 30 s, if left out, and a minute at most. */
	timeoutMs?: number;
	/** How much of its output is in the answer, in bytes: its end. */
	limit?: number;
	/** Of the output before this offset nothing is in the answer: it was told already. */
	since?: number;
};

export type RunAnswer = ControlMessage & {
	/**
	 * `ended`; `running` when the time is over, and `waiting` when it wants something typed: it can be waited for again.
	 * `incomplete` and `rejected`: the shell would not run it. `busy`: something else runs or is being typed, and nothing
	 * was sent.
	 */
	status: "ended" | "running" | "waiting" | "incomplete" | "rejected" | "busy";
	/**
	 * The shell told all of this itself. Else it has no hooks: the command was typed, its echo and the next prompt are in the
	 * output, and its exit code is not known.
	 */
	exact: boolean;
	/** The number of the command; null if none began, and for one that was typed. */
	seq: number | null;
	/** Null unless it has ended, for a shell that was ended by a signal, and for a command that was typed. */
	exitCode: number | null;
	/** The shell's directory after it. */
	cwd: string | null;
	/** Where its output is; of what did not run, what the shell said. While it runs, up to the last whole character. */
	output: { from: number; to: number };
	/** The output as text: UTF-8, newlines as the program wrote them, without the marks of the shell. */
	text: string;
	/** How many bytes of the output come before the text, and were not told already. */
	omitted: number;
	/** What is in front, unless the command has ended. */
	front: ProgramState | null;
	/** How far the input stream is: where the next command of it begins. */
	next: number;
};

/** Of the commands after a number, the newest; `limit` of them. */
export type CommandsQuery = { after?: number; limit?: number };

export type ShellCommand = {
	/** Counts the commands of the session from 1. */
	seq: number;
	/** Its first 1,000 characters; null if the shell did not tell. */
	command: string | null;
	exitCode: number | null;
	cwd: string | null;
	/** `to` is null while it runs. */
	output: { from: number; to: number | null };
	startedAt: number;
	endedAt: number | null;
};

/** Oldest first. Without `proven` anybody who wrote to the terminal may have said this. */
export type CommandList = { commands: ShellCommand[]; proven: boolean };
