/** Generated from src/api/schema by `node scripts/generate.js`. Do not edit. */

/** A terminal, or pipes for stdin, stdout and stderr. */
export type Mode = "pty" | "pipe";

/** The rule for a terminal's size while several clients are attached. */
export type SizePolicy =
	/** The client that attached, typed or changed its size last. */
	| "latest"
	/** The smallest of all clients. */
	| "smallest"
	/** The size does not change. */
	| "fixed"
	/** Only requests to resize the session. */
	| "manual";

/** The program can access everything that the server's user can. */
export type NoSandbox = {
	readonly type: "dangerFullAccess";
};

/** The program is already in a sandbox of its caller. */
export type ExternalSandbox = {
	readonly type: "externalSandbox";
	readonly networkAccess?: "restricted" | "enabled";
};

/** Limits of each process in a sandbox. `processes`, and `memoryBytes` where a control group enforces it, limit all of them together. */
export type SandboxLimits = {
	readonly cpuSeconds?: number;
	readonly memoryBytes?: number;
	readonly processes?: number;
	readonly fileBytes?: number;
};

/** The program can read everything and write nothing. */
export type ReadOnlySandbox = {
	readonly type: "readOnly";
	/** False if left out. */
	readonly networkAccess?: boolean;
	readonly limits?: SandboxLimits;
};

/** The program can write below some directories only. */
export type WorkspaceWriteSandbox = {
	readonly type: "workspaceWrite";
	/** The program's own directory if left out. */
	readonly writableRoots?: readonly string[];
	readonly excludeSlashTmp?: boolean;
	/** False if left out. */
	readonly networkAccess?: boolean;
	readonly limits?: SandboxLimits;
	readonly excludeTmpdirEnvVar?: boolean;
};

/** Each path has its own access. */
export type PathsSandbox = {
	readonly type: "paths";
	/** The longest matching path counts. A path that matches none is readable. */
	readonly paths: readonly {
		readonly path: string;
		readonly access: "read" | "write" | "none";
	}[];
	/** False if left out. */
	readonly networkAccess?: boolean;
	readonly limits?: SandboxLimits;
};

/** The files and network that a program can access; `docs/sandbox.md` explains each policy. */
export type SandboxMessage = NoSandbox | ExternalSandbox | ReadOnlySandbox | WorkspaceWriteSandbox | PathsSandbox;

/** A session to start. Exactly one of `argv` and `command` is required. */
export type CreateSession = {
	/** The program and its arguments. A name without a slash is searched in its `PATH`. */
	readonly argv?: readonly string[];
	/** A line for `/bin/sh -c`. */
	readonly command?: string;
	/** In a workspace with roots: one of them or below; the session then reports its real path. By default the task's directory, or the server's `--cwd`. */
	readonly cwd?: string;
	/** Variables to set, or with null to remove. */
	readonly env?: Readonly<Record<string, string | null>>;
	/** The initial environment, instead of the server's variables. */
	readonly baseEnv?: Readonly<Record<string, string>>;
	/** `pty` (a terminal) if left out; `pipe` for pipes. */
	readonly mode?: Mode;
	/** 80 if left out. */
	readonly cols?: number;
	/** 24 if left out. */
	readonly rows?: number;
	/** `latest` if left out. */
	readonly sizePolicy?: SizePolicy;
	/** `foreground` and `background` as `#rrggbb`: what the session reports to the program while no attached terminal answers. By default `#d0d0d0` on `#000000`. */
	readonly colors?: {
		readonly foreground?: string;
		readonly background?: string;
	};
	/** The caller attaches a terminal at once, which answers the program from the first byte on. Without one the session answers after a second. */
	readonly awaitsTerminal?: boolean;
	/** Unique among running sessions of the workspace. Invisible characters are refused, except in emoji. */
	readonly name?: string;
	/** At most 32. Keys of 1 to 64 of `A-Z a-z 0-9 _ . / -`, values of at most 256 printable characters. */
	readonly labels?: Readonly<Record<string, string>>;
	/** `default` if left out. It need not be declared. */
	readonly workspace?: string;
	/** A task of the workspace: its directory is the default `cwd`, and its variables come before `env`. */
	readonly task?: string;
	/** End the program after this time; 0 (the default) is never. */
	readonly timeoutMs?: number;
	/** End it after this time without output or accepted input; 0 (the default) is never. A repeat and a new size do not count. It works without a server too. */
	readonly idleTimeoutMs?: number;
	/** A terminal is not idle while a job of its shell is in the foreground. Checked when the time is over, which then restarts. The session's own program is no job, nor is a child of a shell without job control. */
	readonly idleExemptJobs?: boolean;
	/** The session outlives the server. True by default. */
	readonly durable?: boolean;
	/** Lose no output before a client with the right to operate attaches losslessly at the beginning. A program that writes more than is kept waits for it, for at most 10 s. */
	readonly holdOutput?: boolean;
	/** Output kept in memory and on disk (`memoryBytes`, `journalBytes`): at most 64 MiB and 4 GiB, or the server's default if that is more. */
	readonly retain?: {
		readonly memoryBytes?: number;
		readonly journalBytes?: number;
	};
	/** `closed` gives a program on pipes an empty input. `open` by default. */
	readonly stdin?: "open" | "closed";
	/** Let bash, zsh or fish, started interactively or as a login shell, mark its prompts and commands, for `run` and `commands`. Not in a sandbox. True by default. */
	readonly shellHooks?: boolean;
	/** The sandbox of the program. By default the one that the workspace requires, else none. */
	readonly sandbox?: SandboxMessage;
};

/** The state of a session. */
export type SessionState =
	/** The program runs. */
	| "running"
	/** The program has ended; processes that it started may still write output. */
	| "exited"
	/** The output is complete. */
	| "closed"
	/** The keeper ended without reporting the exit. */
	| "lost";

/** The size of a terminal. */
export type Size = {
	readonly cols: number;
	readonly rows: number;
};

/** The output that can be read. */
export type Offsets = {
	readonly oldest: number;
	readonly end: number;
};

/** How a program ended. Exactly one of `code` and `signal` is set. */
export type ExitMessage = {
	readonly code: number | null;
	readonly signal: string | null;
	/** Why the server ended the program. */
	readonly reason?: "timeout" | "idle" | "killed" | "oom";
	/** The caller that ended it. */
	readonly by?: string;
};

/** The client that controls a session. */
export type SessionLease = {
	/** Increases with each change of control. A write that names an old one is refused. */
	readonly fence: number;
	readonly holder: string | null;
	readonly exclusive: boolean;
};

/** How much output is kept. */
export type Retain = {
	readonly memoryBytes: number;
	readonly journalBytes: number;
};

/** The state of a coding agent. */
export type AgentState =
	| "working"
	/** It has a dialog open and continues after an answer. */
	| "blocked"
	/** Its turn has ended, and no user has seen that yet. */
	| "done"
	/** It waits for a prompt. */
	| "idle"
	/** Its turn has failed. */
	| "error";

/** The kind of a dialog. */
export type AgentKind = "permission" | "question" | "trust" | "login";

/** A subagent or background task. */
export type AgentChild = {
	/** The name that the agent gave it, with `/` between levels. */
	readonly id: string;
	readonly app: string | null;
	readonly state: AgentState;
	/** With `blocked`. */
	readonly kind: AgentKind | null;
	readonly title: string | null;
	/** The child's own description of its state. */
	readonly details: string | null;
	/** Percent, if the agent reports it. */
	readonly progress: number | null;
	readonly since: number;
};

/** The source of a state. */
export type AgentSignal = "osc7501" | "title" | "notification" | "hook" | "screen";

/** How far a state can be trusted. */
export type AgentConfidence = "sure" | "likely";

/** The coding agent that a session runs, or another program that reports its state by OSC 7501. */
export type AgentMessage = {
	/** The agent, such as `codex`, `claude-code`, `gemini`, `opencode` or `copilot`. */
	readonly app: string;
	readonly state: AgentState;
	/** With `blocked`: the dialog's kind; null if unknown. */
	readonly kind: AgentKind | null;
	/** The question of the dialog. */
	readonly question: string | null;
	/** The subject of the question, such as a command or a diff; or the agent's own description of its state. */
	readonly details: string | null;
	/** The answers that the dialog offers, in its order. Empty until its screen has been read. */
	readonly choices: readonly {
		/** Names the choice in an answer. */
		readonly id: string;
		readonly label: string;
		/** It opens a text field: answer with `text`. */
		readonly takesText?: true;
	}[];
	/** Percent, if the agent reports it. */
	readonly progress: number | null;
	/** The title that the agent gave its work by OSC 7501. */
	readonly title: string | null;
	/** Subagents and background tasks. One that is blocked blocks the session. */
	readonly children: readonly AgentChild[];
	/** Number of this state or dialog. It increases. An answer names it. */
	readonly episode: number;
	/** The end of the output at that time. */
	readonly offset: number;
	/** When the state or dialog began. */
	readonly since: number;
	readonly signal: AgentSignal;
	readonly confidence: AgentConfidence;
};

/** A program that waits for input. */
export type Waiting = {
	/** `prompt` is a shell that waits for a command, `tui` a program that has the whole screen. */
	readonly kind: "line" | "secret" | "key" | "tui" | "prompt";
	/** The text before the cursor. */
	readonly prompt: string;
	/** The answers that the prompt names, such as `y` and `N`. */
	readonly choices?: readonly string[];
	/** Time of the last byte in either direction before the wait. */
	readonly since: number;
	/** The end of the output. An answer names it as `ifWaiting`. */
	readonly offset: number;
	/** Number of this wait. A secret names it together with `offset`. */
	readonly episode: number;
	readonly program: string | null;
};

/** Details of a session for lists. */
export type Overview = {
	/** The line of the cursor, or the last line that is not empty; null while a program has the whole screen. With an agent: the last row of its screen above its input. */
	readonly lastLine: string | null;
	readonly lastOutputAt: number | null;
	/** Time of the last byte in either direction; null if that is unknown. */
	readonly activeAt: number | null;
	/** Output bytes in each of the last 30 intervals of 10 s, oldest first. The last interval has not ended. */
	readonly activity: readonly number[];
	/** The usual pause between outputs; null while unknown. */
	readonly usualIntervalMs: number | null;
	/** Number of attached WebSocket clients. */
	readonly watchers: number;
	/** Number of actions that wait for approval. */
	readonly approvals: number;
	/** Number of prompts that wait until the agent is idle. */
	readonly prompts: number;
	/** The coding agent, or another program that reports its state; null without one. */
	readonly agent: AgentMessage | null;
	/** Null if the program does not wait for input, or if its agent works. Left out while that is unknown. */
	readonly waiting?: Waiting | null;
};

/** A session. */
export type SessionMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly state: SessionState;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly mode: Mode;
	readonly size: Size;
	readonly sizePolicy: SizePolicy;
	readonly pid: number | null;
	/** The oldest output byte that can be read, and the number of bytes so far. Null while only an unreachable keeper knows them. */
	readonly offsets: Offsets | null;
	readonly exit: ExitMessage | null;
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	readonly endedAt: number | null;
	/** Number of readers that follow the session. */
	readonly attachments: number;
	/** The keeper is not responding. The other fields are the last known values. */
	readonly unreachable?: true;
	readonly lease: SessionLease;
	/** Time of the last byte in either direction; null if that is unknown. */
	readonly activeAt: number | null;
	readonly labels: Readonly<Record<string, string>>;
	readonly workspace: string;
	/** The task that it was started for. */
	readonly task: string | null;
	readonly durable: boolean;
	readonly retain: Retain;
	readonly timeoutMs: number;
	readonly idleTimeoutMs: number;
	readonly idleExemptJobs: boolean;
	/** Only if the request asks for it. */
	readonly overview?: Overview;
};

/** A page of sessions. */
export type SessionList = {
	readonly sessions: readonly SessionMessage[];
	/** `after` of the next page; null if this is the last. */
	readonly next: string | null;
};

/** Changes to a session, at least one. */
export type UpdateSession = {
	/** Null removes the name. */
	readonly name?: string | null;
	readonly sizePolicy?: SizePolicy;
};

/** How to end a program and all processes that it started. */
export type KillSession = {
	/** The first signal, such as `TERM` or `SIGINT`; by default a hang-up for a terminal, TERM for pipes. */
	readonly signal?: string;
	/** Time until SIGKILL. */
	readonly graceMs?: number;
};

/** An attached client. */
export type AttachedMessage = {
	/** The name of its caller. */
	readonly name: string;
	/** Milliseconds since the epoch. */
	readonly since: number;
};

/** Clients attached by WebSocket, in the order in which they attached. */
export type AttachedList = {
	readonly attached: readonly AttachedMessage[];
};

/** Which clients to detach. */
export type DetachSession = {
	/** Keep the client that typed last. */
	readonly keepWriter?: boolean;
};

/** The result of detaching clients. */
export type Detached = {
	/** Number of clients that were detached. */
	readonly detached: number;
};

/** A part of the output. */
export type OutputEvent = {
	readonly offset: number;
	readonly stream: "stdout" | "stderr" | "pty";
	/** Base64. */
	readonly data: string;
};

/** Output that the reader does not get. */
export type GapEvent = {
	readonly from: number;
	readonly to: number;
	/** `retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk. */
	readonly reason: "retention" | "live" | "journal";
};

/** The terminal has a new size. */
export type ResizedEvent = {
	readonly offset: number;
	readonly cols: number;
	readonly rows: number;
};

/** The program has ended. */
export type ExitedEvent = {
	readonly offset: number;
	readonly exit: ExitMessage;
};

/** The output is complete. */
export type ClosedEvent = {
	readonly offset: number;
};

/** The keeper ended without reporting the exit. */
export type LostEvent = {
	readonly offset: number;
	readonly message: string;
};

/** The first match in a line of output. */
export type SearchMatch = {
	/** The first byte of the match. */
	readonly offset: number;
	/** The first byte after the match. */
	readonly end: number;
	/** When it was written, in milliseconds since the epoch. */
	readonly time: number;
	/** The first byte of the line. */
	readonly line: number;
	/** The line; of a long one, 1024 UTF-16 units around the match. */
	readonly text: string;
	/** Start and end of the match in `text`, in UTF-16 units. */
	readonly at: readonly [number, number];
};

/** Output from one offset to another. */
export type Span = {
	readonly from: number;
	readonly to: number;
};

/** Lines that match. */
export type SearchResult = {
	readonly matches: readonly SearchMatch[];
	/** The output that was searched. Earlier output that was asked for is gone. */
	readonly searched: Span;
	/** `after` of the next request; null if everything was searched. */
	readonly next: number | null;
};

/** The state of a session's program. */
export type Activity =
	/** It has not read all of its input yet. */
	| "busy"
	| "running"
	/** It can't write. `kind` is `key` after Ctrl-S, and `reader` if its output is not read. */
	| "flow-stopped"
	/** It waits for input. `kind` is `line`, `secret`, `key`, or `reply` for an answer of its terminal. */
	| "waiting"
	/** A shell waits for a command. */
	| "prompt"
	/** It has the whole screen and waits for keys among other things. */
	| "tui"
	/** It would accept input, but continues without it. */
	| "listening"
	| "disk"
	| "stopped"
	/** It waits for something else; `kind` is the kernel function. */
	| "sleeping"
	/** `kind` is the reason: `denied`, `slow`, `relay` or `no-process`. */
	| "unknown"
	| "ended";

/** The state of an agent as one signal reports it. */
export type AgentSignalState = {
	readonly signal: AgentSignal;
	readonly state: AgentState;
	/** The record, title or rule that it comes from. */
	readonly source: string;
	/** Offset in the output at which the state began. */
	readonly offset: number;
	readonly since: number;
};

/** Why an agent has its state, or why a program is no agent. */
export type AgentExplanation = {
	/** The signal that decided; null without an agent. */
	readonly decisive: AgentSignalState | null;
	/** Signals that say something else, by rank. */
	readonly others: readonly AgentSignalState[];
	/** The screen rules that were tried, in order; null if no agent with rules is in front. */
	readonly rules:
		| readonly {
				readonly rule: string;
				/** Why it does not match; null for the one that matches. */
				readonly reason: string | null;
		  }[]
		| null;
};

/** The state of a session's program, and the input that it waits for. */
export type ProgramState = {
	readonly state: Activity;
	/** Details of the state. */
	readonly kind: string | null;
	/** `likely` is wrong only for unusual programs. `guess` is based on the last line. */
	readonly confidence: "sure" | "likely" | "guess";
	/** The process that the state describes. */
	readonly program: string | null;
	readonly pid: number | null;
	readonly cwd: string | null;
	/** Processes of the session, at most 256. Left out once the program has ended. */
	readonly processes?: number;
	/** The text before the cursor. If the program has asked a question, it is here. */
	readonly lastLine: string;
	/** The end of the output at that time. */
	readonly offset: number;
	/** Number of the latest wait for input. With `offset` it identifies the question that a secret answers. */
	readonly episode: number;
	/** Time of the last byte in either direction, or of the program's end. */
	readonly since: number;
	/** The coding agent, or another program that reports its state; null without one. Left out of the answers about commands in a shell. */
	readonly agent?: AgentMessage | null;
	/** If the request asks for it. */
	readonly explanation?: AgentExplanation;
};

/** The position of a cursor. */
export type Cursor = {
	readonly row: number;
	readonly col: number;
	readonly visible: boolean;
};

/** The screen of a session's terminal. */
export type ScreenMessage = {
	/** The screen shows the output before this byte. */
	readonly offset: number;
	/** Increases with everything that can change the screen. */
	readonly revision: number;
	readonly cols: number;
	readonly rows: number;
	/** The alternate screen, which full-screen programs use. */
	readonly alternate: boolean;
	/** From zero. */
	readonly cursor: Cursor;
	readonly title: string;
	/** The text of each row, without trailing blanks and trailing empty rows. */
	readonly lines?: readonly string[];
	/** With `since`, instead of `lines`: the rows that have changed. */
	readonly changes?: readonly {
		readonly row: number;
		readonly text: string;
	}[];
	/** The revision in `since` is no longer known: these are all rows. */
	readonly reset?: true;
	/** The condition was met: the text was displayed, or the screen was stable. */
	readonly met?: boolean;
	/** The state of the session. After its end the screen does not change. */
	readonly state: SessionState;
};

/** Rows that were scrolled off the screen. */
export type ScrollbackMessage = {
	/** The output before this byte produced them. As `at` it requests more of the same. */
	readonly offset: number;
	/** Number of rows above the screen, as far as it was replayed. */
	readonly total: number;
	/** Oldest first. */
	readonly lines: readonly string[];
};

/** The first event of a stream of screens. */
export type ScreensBegin = {
	/** The id of the stream. */
	readonly stream: string;
	/** The number of sessions that it can show. */
	readonly most: number;
};

/** The style of text. Colors are a palette number or `#rrggbb`. */
export type ScreenStyleMessage = {
	readonly fg?: number | string;
	readonly bg?: number | string;
	readonly bold?: true;
	readonly dim?: true;
	readonly italic?: true;
	/** Single, double, curly, dotted or dashed. */
	readonly underline?: 1 | 2 | 3 | 4 | 5;
	readonly blink?: true;
	readonly inverse?: true;
	readonly invisible?: true;
	readonly strikethrough?: true;
	readonly overline?: true;
};

/** Text of one style. */
export type ScreenRunMessage = {
	readonly text: string;
	/** Columns: one per UTF-16 unit, except for a single character, which may be wide. */
	readonly cols: number;
	readonly style?: ScreenStyleMessage;
};

/** How a screen differs from the previous update. */
export type ScreenUpdate = {
	readonly session: string;
	/** The screen shows the output before this byte. */
	readonly offset: number;
	/** Increases with everything that can change the screen. */
	readonly revision: number;
	readonly cols: number;
	readonly rows: number;
	/** The alternate screen, which full-screen programs use. */
	readonly alternate: boolean;
	/** From zero. */
	readonly cursor: Cursor;
	readonly title: string;
	/** The state of the session. After its end the screen does not change. */
	readonly state: SessionState;
	/** Forget earlier updates: rows that are not in `changes` are empty. */
	readonly reset?: true;
	/** Whole rows, without trailing blanks. */
	readonly changes: readonly {
		readonly row: number;
		readonly runs: readonly ScreenRunMessage[];
	}[];
};

/** The kind of an error. Later versions may add codes; a client treats unknown ones as `internal`. */
export type ErrorCode =
	| "invalid_argument"
	| "unauthenticated"
	| "token_ended"
	| "permission_denied"
	| "not_found"
	| "session_not_found"
	| "conflict"
	| "session_exists"
	| "session_closed"
	| "not_writable"
	| "not_waiting"
	| "stale"
	| "blocked"
	| "invalid_choice"
	| "not_approved"
	| "limit_exceeded"
	| "spawn_failed"
	| "unsupported"
	| "node_unavailable"
	| "internal";

/** A session whose screen can't be shown. The server does not retry. */
export type ScreensError = {
	readonly session: string;
	readonly code: ErrorCode;
	readonly message: string;
};

/** The sessions that a stream of screens shows from now on. */
export type ShowScreens = {
	readonly sessions: readonly string[];
};

/** A file format of recordings. */
export type RecordingFormat = "asciicast-v2" | "asciicast-v3";

/** Output bytes in equal intervals of time. */
export type ActivityMessage = {
	readonly from: number;
	readonly to: number;
	/** Oldest first. */
	readonly bytes: readonly number[];
	/** The time up to which the log was read; null if all of it was. */
	readonly until: number | null;
};

/** How far an input stream has come. */
export type InputReceipt = {
	/** The position that is expected next. */
	readonly next: number;
	/** The position up to which the program's side has taken the input. */
	readonly written: number;
	/** The end of the output before this input was accepted. Left out if unknown, as for a large write. */
	readonly from?: number;
};

/** Keys to press. */
export type SendKeys = {
	/** Key names (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type: `text:ls -l`. */
	readonly keys: readonly string[];
};

/** The new size of a terminal. */
export type Resize = {
	readonly cols: number;
	readonly rows: number;
};

/** A signal to send. */
export type SendSignal = {
	/** A name such as `INT` or `SIGTERM`. */
	readonly signal: string;
	/** Send it before input that the program has not read. */
	readonly urgent?: boolean;
};

/** Text and keys to type, and conditions that end the wait. The wait also ends when the program ends. */
export type SendInput = {
	/** Text to type before the keys. */
	readonly text?: string;
	/** Paste the text as a terminal does: Enter for newlines, in brackets if the program asks for them. */
	readonly paste?: boolean;
	/** As in `SendKeys`. */
	readonly keys?: readonly string[];
	readonly until?: {
		/** The new output contains this text, as displayed. */
		readonly match?: string;
		/** `match` is a regular expression, which matches within a line. */
		readonly regex?: boolean;
		readonly ignoreCase?: boolean;
		/** `match` may also be in the echo of the typed lines. */
		readonly includeEcho?: boolean;
		/** No output for this time. */
		readonly idleMs?: number;
		/** The screen has not changed for this time. */
		readonly stableMs?: number;
		/** The program waits for input. */
		readonly input?: boolean;
		/** The shell is at its prompt. */
		readonly end?: boolean;
	};
	/** 30 s if left out, a minute at most. A timeout is not an error. */
	readonly timeoutMs?: number;
	/** The length of the text in the answer, in bytes. */
	readonly limit?: number;
};

/** Actions of a client that had exclusive control. */
export type TakeoverMessage = {
	readonly holder: string;
	/** The output of that time. */
	readonly from: number;
	readonly to: number;
	/** Number of commands that the shell began. */
	readonly commands: number;
};

/** The output that followed what was typed. */
export type SendAnswer = {
	/** The condition that ended the wait. */
	readonly cause: "match" | "idle" | "stable" | "input" | "end" | "exit" | "timeout";
	/** The output since before the first byte was typed. */
	readonly output: Span;
	/** The same output as short text, as with `?as=text`. */
	readonly text: string;
	/** Bytes in the middle that the text leaves out. */
	readonly omitted: Span | null;
	/** The program's state after the wait. */
	readonly state: ProgramState;
	readonly exit: ExitMessage | null;
	/** The next position of the input stream. */
	readonly next: number;
	/** Clients that had exclusive control since the caller's last call, oldest first. */
	readonly takeovers: readonly TakeoverMessage[];
	/** The current fence. A write that names it is refused once control has changed. */
	readonly fence: number;
};

/** An answer to the open dialog: exactly one of `choice` and `text`. */
export type AnswerAgent = {
	/** The `episode` of the dialog. */
	readonly episode: number;
	/** The `id` of a choice. */
	readonly choice?: string;
	/** An answer in the caller's own words. */
	readonly text?: string;
};

/** The dialog is gone. */
export type AnsweredAgent = {
	readonly accepted: true;
};

/** A prompt for the agent. */
export type PromptAgent = {
	readonly text: string;
	/** Keep it until the agent is idle, instead of refusing it. */
	readonly whenIdle?: boolean;
};

/** A prompt that waits until the agent is idle. */
export type QueuedPrompt = {
	readonly id: string;
	readonly text: string;
	/** The caller that queued it. */
	readonly by: string;
	readonly queuedAt: number;
};

/** The prompt was submitted, or is queued. */
export type PromptedAgent = {
	/** False if it is queued. */
	readonly submitted: boolean;
	/** The prompt in the queue; null if it was submitted. */
	readonly queued: QueuedPrompt | null;
};

/** Prompts that wait until the agent is idle, oldest first. */
export type QueuedPrompts = {
	readonly prompts: readonly QueuedPrompt[];
};

/** Asks for control of a session for a limited time. */
export type TakeLease = {
	/** Other clients can't write meanwhile. True if left out. */
	readonly exclusive?: boolean;
	/** Take it from a client that has exclusive control. */
	readonly force?: boolean;
	/** A minute if left out. */
	readonly ttlMs?: number;
	/** Extend the caller's own lease with this fence. */
	readonly fence?: number;
};

/** Requests a secret from a user. */
export type AskSecret = {
	readonly name?: string;
	/** A sentence: what it is for. */
	readonly reason?: string;
};

/** A session, by name. */
export type SessionName = {
	readonly id: string;
	readonly name: string | null;
	readonly workspace: string;
};

/** A request for a secret. It is for the question that the program asks at `offset`, and no other. */
export type SecretRequestMessage = {
	readonly id: string;
	readonly session: SessionName;
	readonly name: string | null;
	readonly reason: string | null;
	/** The line before the cursor. */
	readonly prompt: string;
	readonly program: string | null;
	readonly offset: number;
	/** The name of the caller that asked. */
	readonly askedBy: string;
	readonly createdAt: number;
	readonly expiresAt: number;
	/** The secret source of the server that should supply it. Without a `fault` it has. */
	readonly source?: {
		readonly name: string;
		readonly fault: string | null;
	};
};

/** Requests for secrets, oldest first. */
export type SecretRequestList = {
	readonly requests: readonly SecretRequestMessage[];
};

/** A command to run, or to keep waiting for: exactly one of `command` and `resume`. */
export type RunCommand = {
	/** The command, also of several lines; any characters except NUL. */
	readonly command?: string;
	/** The `seq` of a command that runs: keep waiting for it. */
	readonly resume?: number;
	/** How long to wait for its end, at most a minute; 30000 by default. */
	readonly timeoutMs?: number;
	/** Length of `text`; 65536 by default. */
	readonly limit?: number;
	/** `text` begins at this output offset, if that is after the beginning of the command. */
	readonly since?: number;
	/** Include a part of the output as bytes, from this offset on, at most 1 MiB; 0 for the first part. */
	readonly partFrom?: number;
};

/** A part of a command's output. All parts in order are the whole output. */
export type RunPart = {
	/** The output bytes of the session that it consists of. */
	readonly from: number;
	/** The start of the next part. */
	readonly to: number;
	/** Base64: the bytes that the command wrote, without the marks of the shell and with \n for \r\n. */
	readonly bytes: string;
	/** Number of bytes before it that are no longer in the session's log. */
	readonly omitted: number;
	/** More output is available already. */
	readonly more: boolean;
};

/** The state of a command and its output so far. */
export type RunAnswer = {
	/** `ended`; `running` after the timeout, or `waiting` for input: `resume` waits on. `incomplete` or `rejected` by the shell. `busy`: nothing was sent. */
	readonly status: "ended" | "running" | "waiting" | "incomplete" | "rejected" | "busy";
	/** Why it is `busy`: another `command` runs, unfinished text is `typed` at the prompt, or the shell is still `starting` and may be asked again. */
	readonly why: "command" | "typed" | "starting" | null;
	/** The shell reported all of this. Otherwise it has no hooks: the output contains the echo and the next prompt, and the exit code is unknown. */
	readonly exact: boolean;
	/** Why a shell that supports hooks has none: its version, such as `bash 5.1`, or `readonly` for its `PS1` or `PS0`. */
	readonly unhookedBy: string | null;
	/** The number of the command; null if none began, and without hooks. */
	readonly seq: number | null;
	/** Null until it has ended, after a signal, and without hooks. */
	readonly exitCode: number | null;
	/** The shell's directory afterwards. */
	readonly cwd: string | null;
	/** The output of the command, or the message of the shell. While it runs, up to the last whole character. */
	readonly output: Span;
	/** The output as UTF-8, with the newlines of the program and without the marks of the shell. */
	readonly text: string;
	/** Number of bytes before the text that neither this answer nor `since` covers. */
	readonly omitted: number;
	/** Null without `partFrom`. */
	readonly part: RunPart | null;
	/** The program in the foreground, unless the command has ended. */
	readonly front: ProgramState | null;
	/** The position of the input stream where the next command begins. */
	readonly next: number;
	/** Clients that had exclusive control since the caller's last call, oldest first. */
	readonly takeovers: readonly TakeoverMessage[];
	/** The current fence. A write that names it is refused once control has changed. */
	readonly fence: number;
};

/** A command that a shell has run. */
export type ShellCommand = {
	/** Counts the commands of the session from 1. */
	readonly seq: number;
	/** Its first 1,000 characters; null if the shell did not report it. */
	readonly command: string | null;
	readonly exitCode: number | null;
	readonly cwd: string | null;
	/** `to` is null while it runs. */
	readonly output: {
		readonly from: number;
		readonly to: number | null;
	};
	readonly startedAt: number;
	readonly endedAt: number | null;
};

/** Commands of a shell, oldest first. */
export type CommandList = {
	readonly commands: readonly ShellCommand[];
	/** False if any program that writes to the terminal could have reported them. */
	readonly proven: boolean;
};

/** A type of event to select. `failed` selects `lost`, and `exited` after a failure. */
export type FeedType =
	| "created"
	| "exited"
	| "closed"
	| "lost"
	| "removed"
	| "waiting"
	| "ready"
	| "command"
	| "quiet"
	| "approval"
	| "changed"
	| "secret"
	| "agent"
	| "failed";

/** No data. */
export type NothingMore = None;

/** `waiting`: a program waits for input; `ready`: a shell waits for a command; `command`: a command of a shell has ended; `agent`: the state of a coding agent, or its dialog, has changed. `quiet` and `changed` are sent only if the request asks for them. */
export type FeedEventType =
	| "created"
	| "exited"
	| "closed"
	| "lost"
	| "removed"
	| "waiting"
	| "ready"
	| "command"
	| "quiet"
	| "approval"
	| "changed"
	| "secret"
	| "agent";

/** The session of an event. */
export type FeedSession = {
	readonly id: string;
	readonly name: string | null;
	readonly workspace: string;
	readonly task?: string;
	/** Left out if there are none. */
	readonly labels?: Readonly<Record<string, string>>;
};

/** An action of a token with a gate, or a permission dialog of a coding agent, held until another caller decides. */
export type ApprovalMessage = {
	readonly id: string;
	/** The session that it affects. For `start`, the future session; for `store`, `task:ID`, `pty:ID` or `session:ID`. */
	readonly session: SessionName;
	/** The caller that wants it; for `permission`, `agent:` and the name of the agent. */
	readonly by: {
		readonly id: string;
		readonly name: string;
	};
	readonly kind: "start" | "store" | "run" | "input" | "signal" | "stop" | "delete" | "permission";
	/** Why it is held: it matches, its keys or its command can't be read as text, or such actions are always held. */
	readonly reason: "match" | "unreadable" | "always";
	/** The action as printable text; the middle of a long one is left out. */
	readonly preview: string;
	/** Hash of the exact bytes, in hex; for `permission`, of the text of the dialog. */
	readonly sha256: string;
	/** The end of the output at the time of the request; null without a session. */
	readonly offset: number | null;
	/** The fence of the lease at the time of the request; null without a session. */
	readonly fence: number | null;
	readonly askedAt: number;
	readonly expiresAt: number;
	readonly state: "asked" | "granted" | "denied" | "expired" | "withdrawn";
	/** Unless it is `asked`. */
	readonly endedAt?: number;
	/** The name of the caller that decided. */
	readonly decidedBy?: string;
	/** The note of that caller, or why the action expired. */
	readonly note?: string;
};

/** Something that happened to a session. */
export type FeedEvent = {
	readonly type: FeedEventType;
	readonly time: number;
	readonly session: FeedSession;
	/** With `exited`. */
	readonly exit?: ExitMessage;
	/** With `exited`: the program failed. It was not ended by a caller, and it is not a shell that a user left. */
	readonly failed?: true;
	/** With `waiting`, `ready` and `quiet`: the end of the output. */
	readonly offset?: number;
	/** With `waiting` and `ready`: the awaited input, `line`, `secret`, `key` or `tui`. */
	readonly kind?: string;
	/** With `waiting` and `ready`: the line before the cursor. */
	readonly prompt?: string;
	/** With `waiting` and `ready`: the program that waits. */
	readonly program?: string;
	/** With `command`. */
	readonly command?: ShellCommand;
	/** With `quiet`: the time without output. */
	readonly quietMs?: number;
	/** With `approval`: an action that is held or was decided. Reported to callers that may operate the session, and to the one that wants it. */
	readonly approval?: ApprovalMessage;
	/** With `changed`. */
	readonly overview?: Overview;
	/** With `agent`. Null once there is none. */
	readonly agent?: AgentMessage | null;
	/** With `secret`: a request and its status. */
	readonly secret?: {
		readonly id: string;
		readonly status: "asked" | "given" | "refused" | "expired";
		readonly name: string | null;
		/** The caller that answered it. */
		readonly by: string | null;
	};
};

/** An event that a webhook can report. `waiting` is a program that asks a question; `secret` one that reads a secret (also `waiting`), or a request for one; `failed` a program that failed or was lost (also `exited` or `lost`); `agent` a change of a coding agent's state, of which one that waits for an answer is also `waiting`. A webhook for both reports the narrower one. */
export type WebhookEvent =
	| "waiting"
	| "secret"
	| "approval"
	| "failed"
	| "ready"
	| "quiet"
	| "agent"
	| "created"
	| "exited"
	| "closed"
	| "lost"
	| "removed";

/** A webhook to create. */
export type CreateWebhook = {
	/** The receiver: `https`, or `http` on this machine. */
	readonly url: string;
	/** By default `waiting`, `secret`, `approval` and `failed`. */
	readonly events?: readonly WebhookEvent[];
	/** Only sessions of this workspace. All workspaces if left out, which takes the operator. */
	readonly workspace?: string;
	/** Only sessions with these labels: `key` or `key=value`. All must match. */
	readonly labels?: readonly string[];
	/** Allow a receiver without TLS anywhere. */
	readonly allowHttp?: boolean;
};

/** A new webhook. No other answer contains its secret. */
export type CreatedWebhook = {
	readonly id: string;
	readonly url: string;
	readonly events: readonly WebhookEvent[];
	readonly workspace: string | null;
	readonly labels: readonly string[];
	readonly allowHttp: boolean;
	/** The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers. */
	readonly owner: string | null;
	readonly createdAt: number;
	/** When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active. */
	readonly stoppedAt: number | null;
	/** Number of notices that are being sent. */
	readonly waiting: number;
	/** Number of failed notices that can be sent again. */
	readonly failed: number;
	/** Number of older failed notices that were dropped. */
	readonly dropped: number;
	/** Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private address. */
	readonly problem: string | null;
	/** Signs the notices. */
	readonly secret: string;
};

/** A webhook. */
export type WebhookMessage = {
	readonly id: string;
	readonly url: string;
	readonly events: readonly WebhookEvent[];
	readonly workspace: string | null;
	readonly labels: readonly string[];
	readonly allowHttp: boolean;
	/** The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers. */
	readonly owner: string | null;
	readonly createdAt: number;
	/** When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active. */
	readonly stoppedAt: number | null;
	/** Number of notices that are being sent. */
	readonly waiting: number;
	/** Number of failed notices that can be sent again. */
	readonly failed: number;
	/** Number of older failed notices that were dropped. */
	readonly dropped: number;
	/** Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private address. */
	readonly problem: string | null;
};

/** The webhooks that the caller may manage, oldest first. */
export type WebhookList = {
	readonly webhooks: readonly WebhookMessage[];
};

/** The result of a test notice. */
export type WebhookTest = {
	/** Null if the address is private and the caller is not the operator. */
	readonly delivered: boolean | null;
	/** The status of the receiver's answer; null without one. */
	readonly status: number | null;
	/** Why it failed, or why the result is not reported. */
	readonly reason: string | null;
};

/** The event; `test` for a test, `missed` for an unknown number of lost notices. */
export type NoticeType =
	| "waiting"
	| "secret"
	| "approval"
	| "failed"
	| "ready"
	| "quiet"
	| "agent"
	| "created"
	| "exited"
	| "closed"
	| "lost"
	| "removed"
	| "test"
	| "missed";

/** The body that a receiver gets. */
export type WebhookNotice = {
	readonly type: NoticeType;
	/** Milliseconds since the epoch. */
	readonly time: number;
	/** The id of the webhook. */
	readonly webhook: string;
	/** Not with `test` and `missed`. */
	readonly session?: {
		readonly id: string;
		readonly name: string | null;
		readonly workspace: string;
		readonly labels: Readonly<Record<string, string>>;
		/** Its page, if the server has a name for browsers. */
		readonly url?: string;
	};
	/** The program's question, without keys and tokens. */
	readonly question?: {
		/** `line`, `secret`, `key`, `tui`, or `prompt` of a shell. */
		readonly kind: string;
		readonly prompt: string;
		readonly choices?: readonly string[];
		readonly program?: string;
	};
	/** With `approval`: the action, without keys and tokens. */
	readonly approval?: {
		readonly id: string;
		readonly by: string;
		readonly kind: "start" | "store" | "run" | "input" | "signal" | "stop" | "delete" | "permission";
		readonly preview: string;
		readonly expiresAt: number;
	};
	/** With `secret`, if it was requested. */
	readonly secret?: {
		readonly id: string;
		readonly name: string | null;
	};
	/** How the program ended. */
	readonly exit?: ExitMessage;
	/** With `quiet`: the time without output. */
	readonly quietMs?: number;
	/** The coding agent that the event is about, without keys and tokens. */
	readonly agent?: AgentMessage;
};

/** A notice that the server has stopped sending. */
export type FailedNotice = {
	/** The `webhook-id` that the receiver gets. */
	readonly id: string;
	readonly attempts: number;
	/** Why the last attempt failed. */
	readonly reason: string | null;
	readonly notice: WebhookNotice;
};

/** Failed notices, oldest first. */
export type FailedList = {
	readonly failed: readonly FailedNotice[];
	readonly dropped: number;
};

/** The failed notice to send again; all if left out. */
export type RetryWebhook = {
	readonly id?: string;
};

/** The result of a retry. */
export type RetriedWebhook = {
	/** Number of notices that are sent again. */
	readonly retried: number;
	/** Number of notices for which there was no room. */
	readonly left: number;
};

/** Limits of all sessions of a workspace together. Those left out are the server's. */
export type WorkspaceLimits = {
	/** Running sessions. */
	readonly sessions?: number;
	/** Bytes of all journals. */
	readonly journalBytes?: number;
	readonly startsPerSecond?: number;
};

/** Programs can write below some directories only, and not in `TMPDIR`. */
export type RequiredWorkspaceWriteSandbox = {
	readonly type: "workspaceWrite";
	/** The program's own directory if left out. */
	readonly writableRoots?: readonly string[];
	readonly excludeSlashTmp?: boolean;
	/** False if left out. */
	readonly networkAccess?: boolean;
	readonly limits?: SandboxLimits;
	readonly excludeTmpdirEnvVar?: true;
};

/** A sandbox that a workspace requires. */
export type RequiredSandbox = ReadOnlySandbox | RequiredWorkspaceWriteSandbox | PathsSandbox;

/** A workspace. */
export type WorkspaceMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly roots: readonly string[];
	readonly limits: WorkspaceLimits;
	/** Null if none is required. */
	readonly sandbox: RequiredSandbox | null;
	readonly createdAt: number;
	/** Only in the answer to its declaration: roots in which no program can be started now, and running programs without the new sandbox. */
	readonly warnings?: readonly string[];
};

/** The workspaces that the caller may read, by id. */
export type WorkspaceList = {
	readonly workspaces: readonly WorkspaceMessage[];
};

/** A workspace to declare. It replaces an existing one. */
export type PutWorkspace = {
	readonly name?: string;
	/** Programs start in one of these directories or below; an empty list means anywhere. */
	readonly roots: readonly string[];
	/** `sessions` (running ones), `journalBytes` (all journals) and `startsPerSecond` (on average; five seconds' worth at once). By default the server's. */
	readonly limits?: WorkspaceLimits;
	/** Every program runs in this sandbox, or in a stricter one. For `workspaceWrite` the writable roots are the roots by default. None by default. */
	readonly sandbox?: RequiredSandbox;
};

/** A task. */
export type TaskMessage = {
	readonly id: string;
	readonly workspace: string;
	readonly workDir: string;
	readonly issueId: string | null;
	readonly issueKey: string | null;
	readonly priorSessionId: string | null;
	/** Only for callers that may manage the workspace. */
	readonly env?: Readonly<Record<string, string>>;
	readonly createdAt: number;
	/** Only in the answer to its creation: why no program can be started for it now. */
	readonly warnings?: readonly string[];
};

/** Tasks, newest first. */
export type TaskList = {
	readonly tasks: readonly TaskMessage[];
};

/** A task to create. It replaces an existing one. */
export type PutTask = {
	readonly workDir: string;
	readonly issueId?: string;
	/** The key by which users know the issue. */
	readonly issueKey?: string;
	/** The session of the agent that worked on it before. */
	readonly priorSessionId?: string;
	readonly env?: Readonly<Record<string, string>>;
};

/** Actions that wait for approval, oldest first. */
export type ApprovalList = {
	readonly approvals: readonly ApprovalMessage[];
};

/** A decision. */
export type DecideApproval = {
	readonly decision: "grant" | "deny";
	/** For the caller that wants the action. */
	readonly note?: string;
	/** Grant it even if there was output since the request. */
	readonly evenIfChanged?: boolean;
};

/** Rights of a token when a program reads a secret: type it, request it from a user, or neither. */
export type SecretRight = "type" | "request" | "none";

/** The gate of a token to create. */
export type CreateGate = {
	/** Regular expressions. A command or typed line that matches one of them is held for approval. */
	readonly match?: readonly string[];
	/** When typed lines are matched: at Enter, or at each key. */
	readonly keys?: "enter" | "all";
	/** Hold signals, including those that keys send. */
	readonly signals?: boolean;
	/** Hold requests that end a program or delete a session. */
	readonly stops?: boolean;
	/** An action that has been held for this long is refused. */
	readonly timeoutMs?: number;
};

/** A token to create. It can't have more rights than its creator, or live longer. */
export type CreateToken = {
	/** `admin`, `metrics`, `workspace:ID:read|operate|manage` or `session:ID:view|control`. */
	readonly scopes: readonly string[];
	readonly name?: string;
	/** By default the token expires with its creator. */
	readonly expiresInMs?: number;
	/** By default as for its creator. */
	readonly secrets?: SecretRight;
	/** Added to the gate of its creator. Defaults: `[]`, `enter`, false and five minutes. */
	readonly gate?: CreateGate;
};

/** Actions of a token that wait for another caller's approval. */
export type GateMessage = {
	/** Regular expressions. A command or typed line that matches one of them is held for approval. */
	readonly match: readonly string[];
	/** When typed lines are matched: at Enter, or at each key. */
	readonly keys: "enter" | "all";
	/** Hold signals, including those that keys send. */
	readonly signals: boolean;
	/** Hold requests that end a program or delete a session. */
	readonly stops: boolean;
	/** An action that has been held for this long is refused. */
	readonly timeoutMs: number;
};

/** A new token. No other answer contains its secret. */
export type CreatedToken = {
	readonly id: string;
	readonly name: string | null;
	readonly scopes: readonly string[];
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	/** Milliseconds since the epoch; null if it does not expire. */
	readonly expiresAt: number | null;
	/** Milliseconds since the epoch; null if it was never used. */
	readonly lastUsedAt: number | null;
	/** The token that created it; null for the operator's. */
	readonly parent: string | null;
	/** Number of browsers that it has signed in. */
	readonly opened: number;
	readonly secrets: SecretRight;
	/** Null if its actions need no approval. */
	readonly gate: GateMessage | null;
	readonly token: string;
};

/** A token, without its secret. */
export type TokenMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly scopes: readonly string[];
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	/** Milliseconds since the epoch; null if it does not expire. */
	readonly expiresAt: number | null;
	/** Milliseconds since the epoch; null if it was never used. */
	readonly lastUsedAt: number | null;
	/** The token that created it; null for the operator's. */
	readonly parent: string | null;
	/** Number of browsers that it has signed in. */
	readonly opened: number;
	readonly secrets: SecretRight;
	/** Null if its actions need no approval. */
	readonly gate: GateMessage | null;
};

/** The tokens that the caller may revoke. */
export type TokenList = {
	readonly tokens: readonly TokenMessage[];
};

/** The credential is revoked, but the disk has not stored that yet. After a crash it would be valid again. */
export type NotDurable = {
	readonly durable: false;
	readonly message: string;
};

/** A ticket to create. */
export type CreateTicket = {
	readonly session: string;
	/** `read` if left out. */
	readonly right?: "read" | "operate";
};

/** Opens one WebSocket, within 30 seconds. */
export type CreatedTicket = {
	/** The audit names a connection opened with it `ticket:ID`. */
	readonly id: string;
	readonly ticket: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
};

/** Asks a server to prove that it knows a token. */
export type ProofRequest = {
	/** The id of the token, or `admin` for the operator's. */
	readonly token: string;
	/** A value that was never used before. */
	readonly nonce: string;
};

/** Proof that the server knows a token. */
export type ProofMessage = {
	/** HMAC-SHA256 of `proofText` in hex. Its key is the SHA-256 of the token's secret. */
	readonly proof: string;
};

/** Signs in one browser, within five minutes. */
export type SignInLink = {
	readonly url: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
};

/** How a browser signs in: exactly one of the two. */
export type SignIn = {
	/** A token, or the key of a guest link. */
	readonly token?: string;
	/** The code of a sign-in link. */
	readonly code?: string;
};

/** The answer to a sign-in, in addition to the cookie. */
export type SignedIn = {
	/** Pages send it with every request. */
	readonly pageKey: string;
	/** The caller that the browser is signed in as. */
	readonly name: string;
};

/** A guest link to create. */
export type CreateLink = {
	/** Watch the session, or also type into it; `view` if left out. */
	readonly right?: "view" | "control";
	/** An hour if left out, and never longer than its creator's token. */
	readonly expiresInMs?: number;
	readonly name?: string;
};

/** A new guest link. No other answer contains its key. */
export type CreatedLink = {
	readonly id: string;
	readonly name: string | null;
	readonly right: "view" | "control";
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	/** Milliseconds since the epoch; null if it does not expire. */
	readonly expiresAt: number | null;
	/** Milliseconds since the epoch; null if it was never used. */
	readonly lastUsedAt: number | null;
	/** Number of browsers that it has signed in. */
	readonly opened: number;
	/** The key is in the fragment, which browsers do not send. */
	readonly url: string;
};

/** A guest link: a token for one session. */
export type LinkMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly right: "view" | "control";
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	/** Milliseconds since the epoch; null if it does not expire. */
	readonly expiresAt: number | null;
	/** Milliseconds since the epoch; null if it was never used. */
	readonly lastUsedAt: number | null;
	/** Number of browsers that it has signed in. */
	readonly opened: number;
};

/** Guest links, oldest first. */
export type LinkList = {
	readonly links: readonly LinkMessage[];
};

/** The server runs. */
export type Health = {
	readonly status: "ok";
	readonly version: string;
};

/** The server accepts requests. */
export type Ready = {
	readonly status: "ready";
};

/** Sandboxes are available. */
export type SandboxEnforced = {
	readonly enforced: true;
	readonly by: string;
	readonly limits: "cgroup" | "rlimits";
};

/** Sandboxes are not available. */
export type SandboxMissing = {
	readonly enforced: false;
	readonly reason: string;
};

/** The server keeps an audit. */
export type AuditKept = {
	readonly kept: true;
	/** Entries can be written now. */
	readonly healthy: boolean;
	/** Number of entries that could not be written. */
	readonly lost: number;
};

/** The server keeps no audit. */
export type AuditNotKept = {
	readonly kept: false;
};

/** The server and its features on this machine. */
export type Info = {
	readonly version: string;
	readonly platform: string;
	readonly sandbox: SandboxEnforced | SandboxMissing;
	readonly audit: AuditKept | AuditNotKept;
};

/** Limits of the server, and what a session gets by default. */
export type ServerLimits = {
	/** Running sessions. */
	readonly sessions: number;
	/** Running sessions of one workspace. */
	readonly workspaceSessions: number;
	/** Bytes of all journals. */
	readonly journalBytes: number;
	/** Starts of one caller, on average; 0 is no limit. */
	readonly startsPerSecond: number;
	/** Output that a session keeps by default. */
	readonly retain: {
		readonly memoryBytes: number;
		readonly journalBytes: number;
	};
};

/** The caller, and the server that it calls. */
export type Me = {
	/** The id of the token; `admin` for the operator, `jwt:USER` for a JWT. */
	readonly id: string;
	/** The name that other callers see. */
	readonly name: string;
	/** The caller may do everything. */
	readonly admin: boolean;
	readonly scopes: readonly string[];
	/** When its credential expires. */
	readonly expiresAt: number | null;
	/** The workspaces in which it has a right, with the largest right, by id. */
	readonly workspaces: readonly {
		readonly id: string;
		readonly right: "read" | "operate" | "manage";
	}[];
	/** For a guest: the only session that it can access. */
	readonly guest: {
		readonly session: string;
		readonly right: "view" | "control";
	} | null;
	readonly server: {
		/** The name of its machine. */
		readonly name: string;
		readonly version: string;
	};
	readonly limits: ServerLimits;
};

/** An entry of the audit. Each action has members of its own in addition. */
export type AuditMessage = {
	readonly seq: number;
	/** Milliseconds since the epoch. */
	readonly time: number;
	readonly action: string;
	/** The caller; null for the server. */
	readonly by?: {
		readonly id: string | null;
		readonly name: string | null;
		readonly from: string;
		readonly front: string;
	} | null;
	readonly session?: string;
	readonly workspace?: string;
	/** The hash of the previous entry. */
	readonly prev: string;
	/** The hash of this entry. */
	readonly hash: string;
	readonly [member: string]: unknown;
};

/** A page of the audit, oldest first. */
export type AuditList = {
	readonly entries: readonly AuditMessage[];
	/** `after` of the next page; null if this is the last. */
	readonly next: number | null;
	/** The newest entry. */
	readonly head: {
		readonly seq: number;
		readonly hash: string;
	};
};

/** The body of every answer that is not a success. */
export type ErrorMessage = {
	readonly error: {
		readonly code: ErrorCode;
		readonly message: string;
		readonly hint?: string;
		/** When the same request may succeed, if a rate limit refused it. */
		readonly retryAfterMs?: number;
		/** With `blocked`: the agent, and the dialog that is open. */
		readonly agent?: AgentMessage;
		/** Set together with `retryAfterMs`: the request did nothing and may be repeated. */
		readonly isTemporary?: true;
	};
};

/** The first message, within five seconds. `since` also acknowledges everything before it. */
export type Hello = {
	readonly type: "hello";
	/** The first output byte to send, or `end` for new output only. */
	readonly since: number | "end";
	readonly role: "writer" | "viewer";
	/** The client's input stream, the same on all its connections. Required for a writer. */
	readonly stream?: string;
	/** `lossless` may make the program wait for this client; `live` may skip output. */
	readonly flow: "lossless" | "live";
	/** The writer's own terminal answers the program's queries when a `replies` message says so. */
	readonly replies?: boolean;
	/** The size of the writer's own terminal, for the size policy of the session. */
	readonly size?: {
		readonly cols: number;
		readonly rows: number;
	};
	/** Begin with the screen as escape sequences, if there is one, instead of the output from `since` on. */
	readonly from?: "screen";
	/** Report when the program waits for input, and the commands of its shell. */
	readonly activity?: boolean;
	/** With `from`: rows of scrollback before the screen. */
	readonly scrollback?: number;
};

/** Resizes the session. */
export type ResizeMessage = {
	readonly type: "resize";
	/** The position in the client's input stream. The action takes one unit of it. */
	readonly position: number;
	readonly cols: number;
	readonly rows: number;
};

/** The client's own terminal has a new size. It takes no unit of input. */
export type SizeMessage = {
	readonly type: "size";
	readonly cols: number;
	readonly rows: number;
};

/** Sends a signal. */
export type SignalMessage = {
	readonly type: "signal";
	/** The position in the client's input stream. The action takes one unit of it. */
	readonly position: number;
	readonly signal: string;
	readonly urgent?: boolean;
};

/** Ends the program's input. */
export type EofMessage = {
	readonly type: "eof";
	/** The position in the client's input stream. The action takes one unit of it. */
	readonly position: number;
};

/** Takes control. */
export type TakeMessage = {
	readonly type: "take";
	readonly exclusive: boolean;
	/** Also from a client that has exclusive control. */
	readonly force: boolean;
};

/** Gives back control. */
export type ReleaseMessage = {
	readonly type: "release";
};

/** Types, waits and reads, as `sendInput`. A repetition at the same position of a stream of its own types nothing again. */
export type SendMessage = {
	readonly type: "send";
	readonly id: string;
	readonly stream: string;
	readonly position: number;
	readonly input: SendInput;
};

/** Asks for a `pong`. */
export type PingMessage = {
	readonly type: "ping";
	readonly nonce?: string;
};

/** A message from a client. */
export type ClientMessage =
	| Hello
	| ResizeMessage
	| SizeMessage
	| SignalMessage
	| EofMessage
	| TakeMessage
	| ReleaseMessage
	| SendMessage
	| PingMessage;

/** The client that controls the session. */
export type LeaseMessage = {
	readonly fence: number;
	readonly holder: string | null;
	readonly exclusive: boolean;
	/** This connection has control. */
	readonly mine: boolean;
};

/** The answer to `hello`. */
export type Welcome = {
	readonly type: "welcome";
	readonly session: SessionMessage;
	/** The output of this connection begins at `from`: `since`, unless that is gone or beyond the end. */
	readonly output: {
		readonly from: number;
		readonly oldest: number;
		readonly end: number;
	};
	readonly input: {
		readonly next: number;
		readonly written: number;
		readonly window: number;
	};
	readonly lease: LeaseMessage;
	/** Frames with a screen of this size follow, and then the output after it. */
	readonly screen?: {
		readonly cols: number;
		readonly rows: number;
		readonly bytes: number;
	};
};

/** Output that the client does not get. */
export type GapMessage = {
	readonly type: "gap";
	readonly from: number;
	readonly to: number;
	/** `retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk. */
	readonly reason: "retention" | "live" | "journal";
};

/** The terminal has a new size. */
export type ResizedMessage = {
	readonly type: "resized";
	readonly offset: number;
	readonly cols: number;
	readonly rows: number;
};

/** The program has ended. */
export type ExitedMessage = {
	readonly type: "exited";
	readonly offset: number;
	readonly exit: ExitMessage;
};

/** The output is complete. */
export type ClosedMessage = {
	readonly type: "closed";
	readonly offset: number;
};

/** The keeper ended without reporting the exit. */
export type LostMessage = {
	readonly type: "lost";
	readonly offset: number;
	readonly message: string;
};

/** Control has changed. */
export type LeaseChanged = {
	readonly type: "lease";
	readonly lease: LeaseMessage;
};

/** With `replies`: whether this client answers the program's queries, in output from this offset on. Until the first, another terminal does. */
export type RepliesMessage = {
	readonly type: "replies";
	readonly mine: boolean;
	readonly from: number;
};

/** With `activity`: the program waits for input. */
export type WaitingMessage = {
	readonly type: "waiting";
	readonly offset: number;
	readonly prompt: string;
	readonly program: string | null;
	/** `line`, `secret`, `key` or `tui`. */
	readonly awaited: string;
};

/** With `activity`: a shell waits for a command. */
export type ReadyMessage = {
	readonly type: "ready";
	readonly offset: number;
	readonly prompt: string;
	readonly program: string | null;
};

/** With `activity`: a command of the shell. */
export type CommandMessage = {
	readonly type: "command";
	readonly phase: "begin" | "end";
	readonly command: ShellCommand;
};

/** With `activity`: an action is held or was decided. For clients that may operate the session, and the one that wants it. */
export type ApprovalChanged = {
	readonly type: "approval";
	readonly approval: ApprovalMessage;
};

/** The answer to `send`. */
export type SentMessage = {
	readonly type: "sent";
	readonly id: string;
	readonly answer: SendAnswer;
};

/** A request was refused. The connection stays open. */
export type RefusedMessage = {
	readonly type: "error";
	readonly code: ErrorCode;
	readonly message: string;
	readonly hint?: string;
	/** The action, or where input must continue. */
	readonly position?: number;
	/** The `send`. */
	readonly id?: string;
};

/** The answer to `ping`. */
export type PongMessage = {
	readonly type: "pong";
	readonly nonce?: string;
};

/** A message from the server. */
export type ServerMessage =
	| Welcome
	| GapMessage
	| ResizedMessage
	| ExitedMessage
	| ClosedMessage
	| LostMessage
	| LeaseChanged
	| RepliesMessage
	| WaitingMessage
	| ReadyMessage
	| CommandMessage
	| ApprovalChanged
	| SentMessage
	| RefusedMessage
	| PongMessage;

type None = Record<never, never>;
type Operation<Params, Query, Body, Answer> = {
	readonly params: Params;
	readonly query: Query;
	readonly body: Body;
	readonly answer: Answer;
};

/** The HTTP operations. */
export type Operations = {
	/** Start a program */
	readonly createSession: Operation<None, None, CreateSession, SessionMessage>;
	/** List sessions */
	readonly listSessions: Operation<
		None,
		{
			/** Only these states. */
			readonly state?: readonly SessionState[];
			/** Only sessions of this workspace. */
			readonly workspace?: string;
			/** Only sessions started for this task. */
			readonly task?: string;
			/** Only sessions with exactly this name: one that runs, and any number that ended. */
			readonly name?: string;
			/** `key` or `key=value`. All must match. */
			readonly label?: readonly string[];
			/** Which come first; `oldest` by default. */
			readonly order?: "oldest" | "newest";
			/** `next` of the previous page. If that session is gone: 400, then list again from the start. */
			readonly after?: string;
			/** Sessions per page; 100 by default. */
			readonly limit?: number;
			/** Include the `overview` of each session. */
			readonly overview?: "0" | "1";
		},
		undefined,
		SessionList
	>;
	/** Describe a session */
	readonly getSession: Operation<
		{ readonly id: string },
		{
			/** Include the `overview` of each session. */
			readonly overview?: "0" | "1";
		},
		undefined,
		SessionMessage
	>;
	/** Change a session's name or size policy */
	readonly updateSession: Operation<{ readonly id: string }, None, UpdateSession, SessionMessage>;
	/** End a session's program, and keep the session */
	readonly killSession: Operation<{ readonly id: string }, None, KillSession | undefined, SessionMessage>;
	/** End and remove a session */
	readonly deleteSession: Operation<
		{ readonly id: string },
		{
			/** Also remove a session whose keeper does not respond. */
			readonly force?: "0" | "1";
			/** The first signal, such as `TERM` or `SIGINT`; by default a hang-up for a terminal, TERM for pipes. */
			readonly signal?: string;
			/** Time until SIGKILL. */
			readonly graceMs?: number;
		},
		undefined,
		undefined
	>;
	/** Attach by WebSocket (hawser.v1) */
	readonly attachSession: Operation<{ readonly id: string }, None, undefined, undefined>;
	/** List the clients attached to a session */
	readonly listAttached: Operation<{ readonly id: string }, None, undefined, AttachedList>;
	/** Detach all clients from a session */
	readonly detachAll: Operation<{ readonly id: string }, None, DetachSession | undefined, Detached>;
	/** Read output from an offset on, or follow it as an event stream */
	readonly readOutput: Operation<
		{ readonly id: string },
		{
			/** The first byte; 0 by default. Beyond the end it means the end, and `Hawser-Offset` says so. */
			readonly since?: number;
			/** At most this many bytes of output; 1048576 by default, 4194304 at most (more counts as that). With `as=text` all by default. */
			readonly limit?: number;
			/** Answer with text instead of bytes. */
			readonly as?: "text";
			/** Length of the text in bytes: 9600 by default, 500 at least, 80000 at most (other numbers count as those). Without `as=text` the same as `limit`. */
			readonly max?: number;
			/** Leave out keys and tokens of known forms in the text: `[redacted: github token]`. Offsets stay those of the output. */
			readonly redact?: "0" | "1";
			/** If there is nothing yet, wait this long for the first byte or the end of the log, in milliseconds; 0 by default, 60000 at most (more counts as that). */
			readonly wait?: number;
		},
		undefined,
		never
	>;
	/** Search everything that a session has written */
	readonly searchOutput: Operation<
		{ readonly id: string },
		{
			/** The text or expression to find. */
			readonly q: string;
			/** `q` is a JavaScript regular expression without flags; otherwise plain text. */
			readonly regex?: "0" | "1";
			/** Upper and lower case are equal. */
			readonly ignoreCase?: "0" | "1";
			/** Lines per answer; 100 by default. */
			readonly limit?: number;
			/** `next` of the previous answer, or any offset to begin with. */
			readonly after?: number;
		},
		undefined,
		SearchResult
	>;
	/** Describe what a session's program does and waits for */
	readonly inspectSession: Operation<
		{ readonly id: string },
		{
			/** Answer once the agent has one of these states, or the program has ended. */
			readonly agent?: readonly AgentState[];
			/** Milliseconds to wait for `agent`, 60000 at most; 0 by default. A timeout is not an error. */
			readonly wait?: number;
			/** Add `explanation`: the signals of the agent, and the rules that were tried. */
			readonly explain?: "0" | "1";
		},
		undefined,
		ProgramState
	>;
	/** Read a session's screen: now, once it shows something, or at an earlier time */
	readonly readScreen: Operation<
		{ readonly id: string },
		{
			/** `json` by default. `text`: the rows, one per line; `ansi`: with colors and styles for any terminal; `svg` or `html`: a picture or page that loads nothing. The last three have at most 50,000 cells. */
			readonly format?: "json" | "text" | "ansi" | "html" | "svg";
			/** `revision` of an earlier answer: `changes` has the rows that differ, instead of `lines`. The last 8 revisions that were read are known, for a minute. Otherwise the answer has all `lines`, and `reset`. */
			readonly since?: number;
			/** The screen at that time, instead of now. */
			readonly at?: string;
			/** Milliseconds to wait, 60000 at most, for `text` or `stable`, or for a screen that differs from `since` in text, cursor, title or size; 0 by default. */
			readonly wait?: number;
			/** Wait until a row contains this text; `met` says whether one does. */
			readonly text?: string;
			/** `text` is a JavaScript regular expression. */
			readonly regex?: "0" | "1";
			/** Upper and lower case of `text` are equal. */
			readonly ignoreCase?: "0" | "1";
			/** Wait until the text has not changed for this many milliseconds, counted from the request; `met` says whether. A turning spinner is no change. */
			readonly stable?: number;
			/** The rows that count for `text` and `stable`, from zero: `23`, or `0-3`. */
			readonly region?: string;
		},
		undefined,
		ScreenMessage
	>;
	/** Read the rows above the screen */
	readonly readScrollback: Operation<
		{ readonly id: string },
		{
			/** Leave out this many rows directly above the screen. */
			readonly skip?: number;
			/** Number of rows; 100 by default. */
			readonly limit?: number;
			/** Rows above the screen at that time. */
			readonly at?: string;
		},
		undefined,
		ScrollbackMessage
	>;
	/** Follow the screens of several sessions */
	readonly followScreens: Operation<
		None,
		{
			readonly session?: readonly string[];
		},
		undefined,
		never
	>;
	/** Choose the sessions of a stream of screens */
	readonly showScreens: Operation<{ readonly stream: string }, None, ShowScreens, undefined>;
	/** Export a session's output with its times as an asciicast */
	readonly recordSession: Operation<
		{ readonly id: string },
		{
			/** `asciicast-v2` by default. `asciicast-v3` has the exit code (`x`; 128 plus the number of a signal). */
			readonly format?: RecordingFormat;
			/** The `idle_time_limit` of the header: players shorten longer pauses to this; the times stay. */
			readonly idleLimitMs?: number;
			/** Begin here. The header has the size of the terminal at that time, and the first event draws its screen, if that is available. */
			readonly from?: string;
			/** End here. */
			readonly to?: string;
		},
		undefined,
		never
	>;
	/** Import an asciicast as a session that has ended */
	readonly importRecording: Operation<
		None,
		{
			/** By default the title of the recording, if that can be a name. */
			readonly name?: string;
			/** `default` by default. */
			readonly workspace?: string;
		},
		Uint8Array,
		SessionMessage
	>;
	/** Count a session's output per interval of time */
	readonly readActivity: Operation<
		{ readonly id: string },
		{
			/** Milliseconds since the epoch; by default the start of the session. */
			readonly from?: number;
			/** Milliseconds since the epoch; by default now, or the end of the program. */
			readonly to?: number;
			/** Number of intervals; 100 by default. */
			readonly buckets?: number;
		},
		undefined,
		ActivityMessage
	>;
	/** Type or write bytes */
	readonly writeInput: Operation<
		{ readonly id: string },
		{
			/** Answer once the input is accepted, or written by the kernel. */
			readonly wait?: "accepted" | "written";
			/** Write only if the program still waits at this output offset; otherwise `not_waiting`. */
			readonly ifWaiting?: number;
		},
		Uint8Array,
		InputReceipt
	>;
	/** Press keys, or type text */
	readonly pressKeys: Operation<
		{ readonly id: string },
		{
			/** Write only if the program still waits at this output offset; otherwise `not_waiting`. */
			readonly ifWaiting?: number;
		},
		SendKeys,
		InputReceipt
	>;
	/** Set the size of the terminal */
	readonly resizeTerminal: Operation<{ readonly id: string }, None, Resize, InputReceipt>;
	/** Send a signal to the program */
	readonly signalProgram: Operation<{ readonly id: string }, None, SendSignal, InputReceipt>;
	/** End the program's input */
	readonly endInput: Operation<{ readonly id: string }, None, undefined, InputReceipt>;
	/** Type input, wait for a condition, and read the output */
	readonly sendInput: Operation<{ readonly id: string }, None, SendInput, SendAnswer>;
	/** Answer the dialog of a coding agent */
	readonly answerAgent: Operation<{ readonly id: string }, None, AnswerAgent, AnsweredAgent>;
	/** Type a prompt into a coding agent and submit it */
	readonly promptAgent: Operation<{ readonly id: string }, None, PromptAgent, PromptedAgent>;
	/** List the queued prompts of a session */
	readonly listPrompts: Operation<{ readonly id: string }, None, undefined, QueuedPrompts>;
	/** Remove a prompt from the queue */
	readonly cancelPrompt: Operation<{ readonly id: string; readonly prompt: string }, None, undefined, undefined>;
	/** Take control of a session for a time */
	readonly takeLease: Operation<{ readonly id: string }, None, TakeLease | undefined, SessionLease>;
	/** Give back control of a session */
	readonly releaseLease: Operation<
		{ readonly id: string },
		{
			/** Only if this is still the current fence. */
			readonly fence?: number;
		},
		undefined,
		SessionLease
	>;
	/** Type a line without echo or logging, while the program reads a secret */
	readonly typeSecret: Operation<
		{ readonly id: string },
		{
			/** Write only if the program still waits at this output offset; otherwise `not_waiting`. */
			readonly ifWaiting?: number;
			/** The `episode` of the question. */
			readonly episode?: number;
		},
		Uint8Array,
		InputReceipt
	>;
	/** Ask a user to type the secret that the program reads */
	readonly requestSecret: Operation<{ readonly id: string }, None, AskSecret | undefined, SecretRequestMessage>;
	/** List requests for secrets */
	readonly listSecretRequests: Operation<None, None, undefined, SecretRequestList>;
	/** Type a requested secret, if its program still asks for it */
	readonly giveSecret: Operation<{ readonly id: string }, None, Uint8Array, InputReceipt>;
	/** Refuse or withdraw a request for a secret */
	readonly refuseSecret: Operation<{ readonly id: string }, None, undefined, undefined>;
	/** Run a command in a running shell, or keep waiting for one */
	readonly runCommand: Operation<{ readonly id: string }, None, RunCommand, RunAnswer>;
	/** List the commands of a shell */
	readonly listCommands: Operation<
		{ readonly id: string },
		{
			/** Only commands with a larger number. */
			readonly after?: number;
			/** Number of newest commands; 100 by default. */
			readonly limit?: number;
		},
		undefined,
		CommandList
	>;
	/** Follow what happens to all sessions */
	readonly followEvents: Operation<
		None,
		{
			/** The cursor of the last event that the caller has. The header `Last-Event-ID` overrides it. New events only by default. */
			readonly since?: string;
			/** Report `changed` events. */
			readonly overview?: "0" | "1";
			/** Only these types. `failed` is an `exited` with `failed`, and `lost`. */
			readonly type?: readonly FeedType[];
			/** Report `quiet` after this time without output; 60000 with `type=quiet` alone. */
			readonly quietMs?: number;
			/** Only sessions of this workspace. */
			readonly workspace?: string;
			/** Only sessions started for this task. */
			readonly task?: string;
			/** Only sessions with exactly this name. */
			readonly name?: string;
			/** `key` or `key=value`. All must match. */
			readonly label?: readonly string[];
		},
		undefined,
		never
	>;
	/** Add a webhook */
	readonly createWebhook: Operation<None, None, CreateWebhook, CreatedWebhook>;
	/** List webhooks */
	readonly listWebhooks: Operation<None, None, undefined, WebhookList>;
	/** Remove a webhook */
	readonly deleteWebhook: Operation<{ readonly webhook: string }, None, undefined, undefined>;
	/** Make the operator the owner of a webhook, and activate it again */
	readonly adoptWebhook: Operation<{ readonly webhook: string }, None, undefined, WebhookMessage>;
	/** Send a test notice */
	readonly testWebhook: Operation<{ readonly webhook: string }, None, undefined, WebhookTest>;
	/** List failed notices */
	readonly listFailedNotices: Operation<{ readonly webhook: string }, None, undefined, FailedList>;
	/** Send failed notices again, and waiting ones at once */
	readonly retryNotices: Operation<{ readonly webhook: string }, None, RetryWebhook, RetriedWebhook>;
	/** List workspaces */
	readonly listWorkspaces: Operation<None, None, undefined, WorkspaceList>;
	/** Describe a workspace */
	readonly getWorkspace: Operation<{ readonly ws: string }, None, undefined, WorkspaceMessage>;
	/** Declare a workspace, or replace it */
	readonly putWorkspace: Operation<{ readonly ws: string }, None, PutWorkspace, WorkspaceMessage>;
	/** Remove a workspace, its tasks, its sessions and its webhooks */
	readonly deleteWorkspace: Operation<
		{ readonly ws: string },
		{
			/** End its running sessions. */
			readonly force?: "0" | "1";
		},
		undefined,
		undefined
	>;
	/** List the tasks of a workspace */
	readonly listTasks: Operation<{ readonly ws: string }, None, undefined, TaskList>;
	/** Describe a task */
	readonly getTask: Operation<{ readonly ws: string; readonly task: string }, None, undefined, TaskMessage>;
	/** Create a task, or replace it */
	readonly putTask: Operation<{ readonly ws: string; readonly task: string }, None, PutTask, TaskMessage>;
	/** Remove a task */
	readonly deleteTask: Operation<{ readonly ws: string; readonly task: string }, None, undefined, undefined>;
	/** List actions that wait for approval */
	readonly listApprovals: Operation<None, None, undefined, ApprovalList>;
	/** Describe an action that is held or was decided */
	readonly getApproval: Operation<{ readonly id: string }, None, undefined, ApprovalMessage>;
	/** Grant or deny an action that is held */
	readonly decideApproval: Operation<{ readonly id: string }, None, DecideApproval, ApprovalMessage>;
	/** Create a token with fewer rights */
	readonly createToken: Operation<None, None, CreateToken, CreatedToken>;
	/** List tokens */
	readonly listTokens: Operation<None, None, undefined, TokenList>;
	/** Revoke a token */
	readonly revokeToken: Operation<{ readonly id: string }, None, undefined, undefined>;
	/** Create a ticket for a WebSocket */
	readonly createTicket: Operation<None, None, CreateTicket, CreatedTicket>;
	/** Prove that this server knows a token */
	readonly proveToken: Operation<None, None, ProofRequest, ProofMessage>;
	/** Create a sign-in link */
	readonly createSignInLink: Operation<None, None, undefined, SignInLink>;
	/** The page of a sign-in link */
	readonly showSignIn: Operation<None, None, undefined, never>;
	/** Sign this browser in, from the page of a sign-in link */
	readonly signIn: Operation<None, None, undefined, never>;
	/** Sign this browser in by a token or a link */
	readonly signInBrowser: Operation<None, None, SignIn, SignedIn>;
	/** Sign this browser out */
	readonly signOut: Operation<None, None, undefined, undefined>;
	/** Create a guest link for a session */
	readonly shareSession: Operation<{ readonly id: string }, None, CreateLink, CreatedLink>;
	/** List the guest links of a session */
	readonly listLinks: Operation<{ readonly id: string }, None, undefined, LinkList>;
	/** Revoke a guest link */
	readonly revokeLink: Operation<{ readonly id: string; readonly link: string }, None, undefined, undefined>;
	/** Report that the server runs */
	readonly getHealth: Operation<None, None, undefined, Health>;
	/** Report whether the server accepts requests */
	readonly getReadiness: Operation<None, None, undefined, Ready>;
	/** Describe the server */
	readonly getInfo: Operation<None, None, undefined, Info>;
	/** Describe the caller and its rights */
	readonly getMe: Operation<None, None, undefined, Me>;
	/** Read the audit */
	readonly listAudit: Operation<
		None,
		{
			/** `next` of the previous page. */
			readonly after?: number;
			/** Entries per page; 100 by default. */
			readonly limit?: number;
			/** Only entries of this session. */
			readonly session?: string;
			/** Only entries of the caller with this id. */
			readonly principal?: string;
			/** Only this action. */
			readonly action?: string;
		},
		undefined,
		AuditList
	>;
	/** Metrics for Prometheus */
	readonly getMetrics: Operation<None, None, undefined, never>;
	/** This description */
	readonly getOpenApi: Operation<None, None, undefined, never>;
};
