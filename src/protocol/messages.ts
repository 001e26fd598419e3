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
	/** Which of its waits this is, as `ProgramState` counts them: what a secret is for, with `offset`. */
	episode: number;
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
