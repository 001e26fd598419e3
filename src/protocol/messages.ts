/** What the native HTTP API says, in both directions; `docs/protocol.md` explains it. */

/** The closed set of error codes. New ones may be added, so a client must treat an unknown one as `internal`. */
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
	| "not_approved"
	| "limit_exceeded"
	| "spawn_failed"
	| "unsupported"
	| "node_unavailable"
	| "internal";

/** The body of every answer that is not a success. */
export type ErrorMessage = { error: { code: ErrorCode; message: string; hint?: string } };

export type SessionState = "running" | "exited" | "closed" | "lost";

/** How a program ended: exactly one of `code` and `signal` is set. */
export type ExitMessage = {
	code: number | null;
	signal: string | null;
	/** Why, when it did not end by itself. */
	reason?: "timeout" | "idle" | "killed" | "oom";
	by?: string;
};

/** What decides a terminal's size; `docs/protocol.md` explains it. */
export type SizePolicy = "latest" | "smallest" | "fixed" | "manual";

export type SessionMessage = {
	id: string;
	name: string | null;
	state: SessionState;
	argv: string[];
	cwd: string;
	mode: "pty" | "pipe";
	size: { cols: number; rows: number };
	sizePolicy: SizePolicy;
	pid: number | null;
	/** The oldest output byte that can be read, and the number of bytes there have been. */
	offsets: { oldest: number; end: number };
	exit: ExitMessage | null;
	/** Milliseconds since the epoch. */
	createdAt: number;
	endedAt: number | null;
	attachments: number;
	/** Whoever keeps the session does not answer now: the rest is what was last known. */
	unreachable?: true;
	lease: { fence: number; holder: string | null; exclusive: boolean };
	/** When the last byte came or went, in milliseconds since the epoch; null when that is not known. */
	activeAt: number | null;
	labels: Record<string, string>;
	workspace: string;
	/** That it was started for. */
	task: string | null;
	durable: boolean;
	retain: { memoryBytes: number; journalBytes: number };
	timeoutMs: number;
	idleTimeoutMs: number;
	idleExemptJobs: boolean;
	/** Only if it was asked for. */
	overview?: Overview;
};

/** How a session looks in a list, besides what it is. */
export type Overview = {
	/** The line in which the cursor is, or the last that is not empty, as text; null while a program has the whole screen. */
	lastLine: string | null;
	lastOutputAt: number | null;
	/** Bytes of output in each of the last 30 intervals of 10 s, oldest first; the last one is under way. */
	activity: number[];
	/** How long it is quiet between one output and the next, as a rule; null while that is not known. */
	usualIntervalMs: number | null;
	/** How many are attached by WebSocket. */
	watchers: number;
	/** How many acts on it are held until somebody approves them. */
	approvals: number;
	/** What its program waits for, null if it does not; left out while nobody follows the events with overviews. */
	waiting?: Waiting | null;
};

/** A program that waits for somebody to type. */
export type Waiting = {
	/** `prompt` is a shell that takes a command, `tui` a program that has the screen to itself. */
	kind: "line" | "secret" | "key" | "tui" | "prompt";
	/** The text before the cursor. */
	prompt: string;
	/** The answers that it names, such as `y` and `N`. */
	choices?: string[];
	/** When the byte came or went after which it waits. */
	since: number;
	/** Where the output ended: what an answer is for. */
	offset: number;
	program: string | null;
};

/** What each process in a sandbox may use; `processes`, and where control groups limit it `memoryBytes`, is for all of them together. */
export type SandboxLimits = { cpuSeconds?: number; memoryBytes?: number; processes?: number; fileBytes?: number };

/** What a program may reach; `docs/sandbox.md` says what each policy promises. */
export type SandboxMessage =
	| { type: "dangerFullAccess" }
	| { type: "externalSandbox"; networkAccess?: "restricted" | "enabled" }
	| { type: "readOnly"; networkAccess?: boolean; limits?: SandboxLimits }
	| {
			type: "workspaceWrite";
			/** The program's own directory, when left out. */
			writableRoots?: string[];
			networkAccess?: boolean;
			excludeTmpdirEnvVar?: boolean;
			excludeSlashTmp?: boolean;
			limits?: SandboxLimits;
	  }
	| {
			type: "paths";
			/** The longest path that fits counts; what none names can be read. */
			paths: { path: string; access: "read" | "write" | "none" }[];
			networkAccess?: boolean;
			limits?: SandboxLimits;
	  };

/** Until version 0.2 the state is told under this name as well. */
export const formerStateHeader = "hawser-status";

/** Asks for a session. Exactly one of `argv` and `command` is given; everything else has a default. */
export type CreateSession = {
	/** The program and its arguments. */
	argv?: string[];
	/** A line for `/bin/sh -c`. */
	command?: string;
	cwd?: string;
	/** Added to the environment; null takes a variable away. */
	env?: Record<string, string | null>;
	/** What `env` is added to, instead of what every program is given of the server's own environment. */
	baseEnv?: Record<string, string>;
	mode?: "pty" | "pipe";
	cols?: number;
	rows?: number;
	sizePolicy?: SizePolicy;
	/** What the program is told of the terminal's colours while no attached terminal answers, `#rrggbb` each; light on dark. */
	colors?: { foreground?: string; background?: string };
	/** Whether the caller attaches a terminal at once that answers what the program asks; it is waited for for a second. */
	awaitsTerminal?: boolean;
	name?: string;
	labels?: Record<string, string>;
	workspace?: string;
	/** Of the workspace: its directory and its variables are taken where `cwd` and `env` name no others. */
	task?: string;
	/** Zero means never. */
	timeoutMs?: number;
	/** How long there may be no byte of output or input; zero means for ever. */
	idleTimeoutMs?: number;
	/** Whether a terminal is not idle while a job of its shell is in the foreground. */
	idleExemptJobs?: boolean;
	/** Whether the session outlives the server. */
	durable?: boolean;
	/**
	 * Whether no output is lost before somebody who may operate it attaches losslessly from its beginning: the program
	 * waits when it has written more than is kept, for 10 s at most.
	 */
	holdOutput?: boolean;
	retain?: { memoryBytes?: number; journalBytes?: number };
	stdin?: "open" | "closed";
	/** Whether bash, zsh or fish is made to mark its prompts and commands, for `run` and `commands`; true when left out. */
	shellHooks?: boolean;
	/** What can't be enforced is refused with `unsupported`. Everything that the server's user may, when left out. */
	sandbox?: SandboxMessage;
};

/** One page of sessions, oldest first. */
export type SessionList = {
	sessions: SessionMessage[];
	/** What to give as `after` for the next page; null when this is the last. */
	next: string | null;
};

/** What the sessions of a workspace may have together; what is left out is as for the whole server. */
export type WorkspaceLimits = {
	/** That run at a time. */
	sessions?: number;
	/** Of all journals: what running sessions may ask for, and what ended ones have. */
	journalBytes?: number;
	startsPerSecond?: number;
};

/** Declares a workspace, or replaces what was declared. */
export type PutWorkspace = {
	name?: string;
	/** Directories that programs may be started in, or below; none means anywhere. */
	roots: string[];
	limits?: WorkspaceLimits;
};

export type WorkspaceMessage = {
	id: string;
	name: string | null;
	roots: string[];
	limits: WorkspaceLimits;
	createdAt: number;
	/** Only where it was just declared: in which roots no program could be started now, and why. */
	warnings?: string[];
};

/** All that the caller may read, by id. */
export type WorkspaceList = { workspaces: WorkspaceMessage[] };

/** Makes a task, or replaces it. */
export type PutTask = {
	workDir: string;
	/** What it is done for: an id, and a key that people know it by. */
	issueId?: string;
	issueKey?: string;
	/** Of the agent that worked on it before. */
	priorSessionId?: string;
	env?: Record<string, string>;
};

export type TaskMessage = {
	id: string;
	workspace: string;
	workDir: string;
	issueId: string | null;
	issueKey: string | null;
	priorSessionId: string | null;
	/** Only for who may manage the workspace. */
	env?: Record<string, string>;
	createdAt: number;
	/** Only where it was just made: why no program could be started for it now. */
	warnings?: string[];
};

/** Newest first. */
export type TaskList = { tasks: TaskMessage[] };

/** How far an input stream has come: `next` is the position wanted, `written` what the program's side took. */
export type InputReceipt = { next: number; written: number };

/** Keys to press, by name (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type as it is: `text:ls -l`. */
export type SendKeys = { keys: string[] };

export type Resize = { cols: number; rows: number };

/** Changes what may change of a session, at least one of these; null takes its name away. */
export type UpdateSession = { name?: string | null; sizePolicy?: SizePolicy };

/** A connection that is attached to a session: whose it is, and since when, in milliseconds since the epoch. */
export type AttachedMessage = { name: string; since: number };

/** By WebSocket, those who came first first. */
export type AttachedList = { attached: AttachedMessage[] };

/** `keepWriter` leaves the attachment alone that typed last. */
export type DetachSession = { keepWriter?: boolean };
/** How many were attached to a session until now. */
export type Detached = { detached: number };

/** Ends a program and all that it started: what is sent first, and how long they may take before SIGKILL. */
export type KillSession = { signal?: string; graceMs?: number };

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

/** A number of the palette, or `#rrggbb`. */
export type ScreenColorMessage = number | string;

export type ScreenStyleMessage = {
	readonly fg?: ScreenColorMessage;
	readonly bg?: ScreenColorMessage;
	readonly bold?: true;
	readonly dim?: true;
	readonly italic?: true;
	/** Single, double, curly, dotted, dashed. */
	readonly underline?: 1 | 2 | 3 | 4 | 5;
	readonly blink?: true;
	readonly inverse?: true;
	readonly invisible?: true;
	readonly strikethrough?: true;
	readonly overline?: true;
};

/** Text of one style, and how many columns it takes: one for each UTF-16 unit, unless it is a single character, which may be wide. */
export type ScreenRunMessage = { readonly text: string; readonly cols: number; readonly style?: ScreenStyleMessage };

/** What is otherwise on a session's screen than it was told before. */
export type ScreenUpdate = {
	session: string;
	offset: number;
	/** Grows with everything that can change it. */
	revision: number;
	cols: number;
	rows: number;
	alternate: boolean;
	cursor: { row: number; col: number; visible: boolean };
	title: string;
	state: SessionState;
	/** Nothing that was told before counts: rows that are not among the changes are empty. */
	reset?: true;
	/** Rows from zero on, whole, without blanks at their end. */
	changes: { row: number; runs: ScreenRunMessage[] }[];
};

/** The first that a stream of screens says: its name, and how many sessions it may be about. */
export type ScreensBegin = { stream: string; most: number };

/** A session whose screen can't be had; it is not tried again. */
export type ScreensError = { session: string; code: ErrorCode; message: string };

/** The sessions that a stream of screens is about from now on. */
export type ShowScreens = { sessions: string[] };

/** What `event: output` of the event stream carries. */
export type OutputEvent = { offset: number; stream: "stdout" | "stderr" | "pty" /** Base64. */; data: string };

/** What to look for in a session's output, and from which byte on. */
export type SearchQuery = {
	q: string;
	/** Whether `q` is a regular expression, as JavaScript has them. */
	regex?: "0" | "1";
	ignoreCase?: "0" | "1";
	limit?: number;
	/** `next` of the answer before. */
	after?: number;
};

/** A line in which something was found; if it is there several times, the first. */
export type SearchMatch = {
	/** Of the first byte of what was found, and of the first after it. */
	offset: number;
	end: number;
	/** When it was written, in milliseconds since the epoch. */
	time: number;
	/** The offset of the line's first byte. */
	line: number;
	/** The line; of a long one, 1024 UTF-16 units around the match. */
	text: string;
	/** Where in `text` the match begins and ends, in UTF-16 units. */
	at: [number, number];
};

export type SearchResult = {
	matches: SearchMatch[];
	/** The bytes that were searched; what lies before `from` and was asked for is gone. */
	searched: { from: number; to: number };
	/** What to give as `after` to go on; null when all that there is was searched. */
	next: number | null;
};

export type RecordingFormat = "asciicast-v2" | "asciicast-v3";

/** Which part of a session is wanted as a recording: from one offset or ISO 8601 time to another. */
export type RecordingQuery = {
	format?: RecordingFormat;
	/** What players shorten pauses to. */
	idleLimitMs?: number;
	from?: string;
	to?: string;
};

/** Of which time the activity is wanted, in milliseconds since the epoch, and in how many parts. */
export type ActivityQuery = { from?: number; to?: number; buckets?: number };

/** How much a session wrote in each part of a time, oldest first. */
export type ActivityMessage = {
	from: number;
	to: number;
	bytes: number[];
	/** Up to when it was gone through, if that was not all; null if it was. */
	until: number | null;
};

/** How a recording is to be taken in as a session that has ended: its name, if not the title that it has. */
export type ImportQuery = { name?: string; workspace?: string };

/** Which screen is wanted, and how: as JSON, as text, as text with colours, or as a picture. */
export type ScreenQuery = {
	format?: "json" | "text" | "ansi" | "html" | "svg";
	/** The `revision` of an earlier answer: only rows that have changed since are wanted. */
	since?: number;
	/** An offset or ISO 8601 time: how it was then, instead of now. */
	at?: string;
	/** How long to wait, in milliseconds, for what follows; without any of it, for a change since `since`. */
	wait?: number;
	/** It has this text in one of its rows. */
	text?: string;
	/** Whether `text` is a regular expression, as JavaScript has them. */
	regex?: "0" | "1";
	ignoreCase?: "0" | "1";
	/** Its text has not changed for so many milliseconds, since it was asked. */
	stable?: number;
	/** The only rows that count for both: `3`, or the first and the last as `0-3`. */
	region?: string;
};

/** Which rows above the screen are wanted: so many, above so many others. */
export type ScrollbackQuery = { skip?: number; limit?: number; at?: string };

/** Rows that were scrolled away. */
export type ScrollbackMessage = {
	/** The output before this byte is what they were above: to be given as `at` for others of the same. */
	offset: number;
	/** How many rows there are above the screen, as far as it was looked. */
	total: number;
	/** Of these, the oldest first. */
	lines: string[];
};

/** What a session's terminal shows. */
export type ScreenMessage = {
	/** The output before this byte is what it shows. */
	offset: number;
	/** Grows with everything that can change it. */
	revision: number;
	cols: number;
	rows: number;
	/** Whether it is the alternate screen, which full-screen programs use. */
	alternate: boolean;
	/** From zero. */
	cursor: { row: number; col: number; visible: boolean };
	title: string;
	/** The text of each row, without blanks at its end and without empty rows after the last. */
	lines?: string[];
	/** Instead of `lines`: the rows that have changed. */
	changes?: { row: number; text: string }[];
	/** What was asked to be compared with is not known any more: these are all rows. */
	reset?: true;
	/** Whether it is as it was waited for: has the text, or was stable. */
	met?: boolean;
	/** Of the session; once it has ended, the screen stays as it is. */
	state: SessionState;
};

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

/** Asks for a secret to be typed by somebody who may. */
export type AskSecret = {
	/** What to call it. */
	name?: string;
	/** What it is for, in a sentence. */
	reason?: string;
};

/** A secret that is asked for. It is for the question that the program asks at `offset`, and for no other. */
export type SecretRequestMessage = {
	id: string;
	session: { id: string; name: string | null; workspace: string };
	name: string | null;
	reason: string | null;
	/** The line before the cursor. */
	prompt: string;
	program: string | null;
	offset: number;
	/** The name of who asked. */
	askedBy: string;
	createdAt: number;
	expiresAt: number;
};

/** Oldest first. */
export type SecretRequestList = { requests: SecretRequestMessage[] };

/** Something that a token with a gate wants to do, and that is held until somebody else decides. */
export type ApprovalMessage = {
	id: string;
	/** The session it is done to; of a `start`, the one that there will be. */
	session: { id: string; name: string | null; workspace: string };
	/** Who wants it. */
	by: { id: string; name: string };
	kind: "start" | "run" | "input" | "signal" | "stop" | "delete";
	/** Why it is held: it matches, its keys do not say what it is, or such acts always are. */
	reason: "match" | "unreadable" | "always";
	/** What it is, fit to be shown anywhere, and cut in the middle where it is long. */
	preview: string;
	/** Of the exact bytes, in hex. */
	sha256: string;
	/** Where the output ended, and the lease's fence, when it was asked for; null where there is no session yet. */
	offset: number | null;
	fence: number | null;
	askedAt: number;
	expiresAt: number;
	state: "asked" | "granted" | "denied" | "expired" | "withdrawn";
	/** Once it is not `asked` any more. */
	endedAt?: number;
	/** The name of who decided, if somebody did. */
	decidedBy?: string;
	/** What they said with it, or why it has expired. */
	note?: string;
};

export type ApprovalList = { approvals: ApprovalMessage[] };

export type DecideApproval = {
	decision: "grant" | "deny";
	/** For who asked. */
	note?: string;
	/** Grants it also if there was more output since. */
	evenIfChanged?: boolean;
};

export type Ready = { status: "ready" };

/** Who a caller is and what it may do, and which server this is. */
export type Me = {
	/** Of the token; `admin` for the operator, `jwt:USER` for who shows a JWT. */
	id: string;
	/** How others hear of it. */
	name: string;
	/** May do everything. */
	admin: boolean;
	scopes: string[];
	/** When its credential ends by itself. */
	expiresAt: number | null;
	/** Where it may do something, and the most that it may do there; by id. */
	workspaces: { id: string; right: "read" | "operate" | "manage" }[];
	/** With whom one session was shared, and nothing else. */
	guest: { session: string; right: "view" | "control" } | null;
	/** The name of its machine. */
	server: { name: string; version: string };
	limits: ServerLimits;
};

/** What all sessions may have together, what of it one workspace may, and what one session has unless it asks for something else. */
export type ServerLimits = {
	sessions: number;
	workspaceSessions: number;
	journalBytes: number;
	/** Of one caller, in the long run; zero is no limit. */
	startsPerSecond: number;
	retain: { memoryBytes: number; journalBytes: number };
};

/** What the server is, and what it can do on its machine. */
export type Info = {
	version: string;
	platform: string;
	/** What enforces sandboxes and their limits, or why none can be. */
	sandbox: { enforced: true; by: string; limits: "cgroup" | "rlimits" } | { enforced: false; reason: string };
	/** Whether it is recorded who did what, whether that can be written now, and how many entries were lost. */
	audit: { kept: true; healthy: boolean; lost: number } | { kept: false };
};

/** An entry of the audit: who did what, and its place in the chain. Each kind has members of its own besides. */
export type AuditMessage = {
	seq: number;
	/** Milliseconds since the epoch. */
	time: number;
	action: string;
	/** Null for the server itself. */
	by?: { id: string | null; name: string | null; from: string; front: string } | null;
	session?: string;
	workspace?: string;
	/** The hash of the entry before, and of this one. */
	prev: string;
	hash: string;
	[member: string]: unknown;
};

/** One page of the audit, oldest first. */
export type AuditList = {
	entries: AuditMessage[];
	/** What to give as `after` for the next page; null when this is the last. */
	next: number | null;
	/** The newest entry. */
	head: { seq: number; hash: string };
};

export type Health = { status: "ok"; version: string };

/** The headers that say where the bytes of an output answer stand. */
export const outputHeaders = {
	/** Offset of the first byte of the body. */
	offset: "hawser-offset",
	/** Where to go on reading. */
	next: "hawser-next",
	/** How many bytes there have been so far. */
	end: "hawser-end",
	/** The session's state. */
	state: "hawser-state",
	/** The exit as JSON, once there is one. */
	exit: "hawser-exit",
	/** Bytes before the body that are gone: `from=0, to=4096, reason=retention`. */
	gap: "hawser-gap",
	/** Bytes that a text says nothing of: `from=2034, to=83258`. */
	omitted: "hawser-omitted",
} as const;

/** Under which lease something is written. */
export const fenceHeader = "hawser-fence";

/** Carries `stream:position` with input, and any word with what makes a session, so that a repeated request is recognised. */
export const idempotencyKeyHeader = "idempotency-key";

export const limits = {
	/** A request's body: 1 MiB. */
	bodyBytes: 1_048_576,
	/**
	 * The body that starts a program: 16 MiB. The kernel carries 2 MiB of arguments and environment, JSON takes up
	 * to six characters for a byte of it, and what is larger is the kernel's to refuse (E2BIG), not ours.
	 */
	startBytes: 16_777_216,
	/** A recording that is taken in: 32 MiB, which is hours of a busy terminal. */
	recordingBytes: 33_554_432,
	/** One answer of output: 1 MiB by default, 4 MiB at most. */
	outputBytes: 1_048_576,
	maxOutputBytes: 4_194_304,
	/** Output as text: what passes every model's limit by default, and at most; less would be nothing but marks. */
	minTextBytes: 500,
	textBytes: 9_600,
	maxTextBytes: 80_000,
	/** How long one request for output may wait. */
	maxWaitMs: 60_000,
	/** How long a command is waited for, if it is not said, and how much of its output is told then. */
	runMs: 30_000,
	runOutputBytes: 65_536,
	nameLength: 64,
	/** Of what somebody says with a decision. */
	noteLength: 500,
	labels: 32,
	labelLength: 256,
	listed: 100,
	maxListed: 1000,
	/** What is looked for in a session's output, in UTF-16 units. */
	patternLength: 1000,
	maxSize: 65_535,
	keys: 1024,
	keyLength: 65_536,
	/** Paths that a sandbox may name: each is a mount, and each takes time. */
	sandboxPaths: 256,
	/** Roots of a workspace: each is looked up whenever a program is started. */
	roots: 32,
	/** How long a lease taken over HTTP is held: at least, if it is not said, and at most. */
	minLeaseMs: 1_000,
	leaseMs: 60_000,
	maxLeaseMs: 3_600_000,
	/** How long what is killed may take to end by itself. */
	maxGraceMs: 600_000,
	/** How long an event stream may be silent. */
	heartbeatMs: 15_000,
	/** How long the key of a request that made a session is remembered, and how many of them: the oldest go first. */
	idempotencyMs: 86_400_000,
	idempotencyKeys: 10_000,
	/** How many screens one stream may be about, and how many cells each may have. */
	tiles: 32,
	tileCells: 20_000,
	/** How many events the feed remembers: a night of fifty agents that ask something every three minutes. */
	feedEvents: 10_000,
	/** How long a program must be silent to be called quiet: at least, if it is not said, and at most. */
	minQuietMs: 1_000,
	quietMs: 60_000,
	maxQuietMs: 86_400_000,
} as const;
