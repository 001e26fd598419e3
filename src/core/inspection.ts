/** What a session's program waits for, decided from what the kernel shows of it. */

import type { ScanState } from "./scan.ts";

/** What the processes in front do, as a backend saw them at one moment. */
export type Sight = {
	/** Whether they have a terminal; else pipes. */
	readonly hasTerminal: boolean;
	/** It is one that a program of the session made, as a recorder does. */
	readonly isInner: boolean;
	/** There are several such terminals, or one that we may not open: what is in them can't be told. */
	readonly isSplit: boolean;
	readonly canonical: boolean;
	readonly echo: boolean;
	/** Bytes of input that are there and were not read. */
	readonly unread: number;
	/** One of them runs; one is blocked reading its input, writing to the terminal, or listening for input among other things. */
	readonly runs: boolean;
	readonly reads: boolean;
	readonly writes: boolean;
	readonly listens: boolean;
	readonly isOnDisk: boolean;
	/** All of them are. */
	readonly isStopped: boolean;
	/** We may not see what one of them does. */
	readonly isDenied: boolean;
	/** The one that says most about it; null when there is none. */
	readonly pid: number | null;
	/** Tells it from others that have its number before or after it, and from what it was before it became another program. */
	readonly image: string | null;
	readonly program: string | null;
	readonly cwd: string | null;
	/** What it sleeps in: `sleep`, `child`, `thread`, `socket`, `lock`, `signal`, `events`, `read`, `write` or `other`. */
	readonly call: string | null;
	/** How many there are, in front or not; 256 at most are counted. */
	readonly processes: number;
};

/** What the session knows besides. */
export type Surroundings = {
	/** The process that it has started; undefined when there is none. */
	readonly own: number | undefined;
	/** Input that was accepted and that the kernel has not taken yet. */
	readonly hasQueuedInput: boolean;
	/** We do not read the program's output now. */
	readonly isPaused: boolean;
	/** The program has the whole screen, as editors do; a shell has marked that it takes a command now. */
	readonly isFullScreen: boolean;
	readonly isAtPrompt: boolean;
	/** The last that was written asks the terminal something, and nothing was typed since. */
	readonly isAsking: boolean;
	/** How long no output came. */
	readonly quietMs: number;
};

export type Activity =
	/** It has input that it has not read yet. */
	| "busy"
	| "running"
	/** It can't write: `key` (somebody pressed ^S), or `reader` (we do not read, because somebody else does not). */
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
	/** We may not look (`denied`), could not in time (`slow`), what is shown is elsewhere (`relay`), or nobody is in front (`nobody`). */
	| "unknown"
	| "ended";

export type Verdict = {
	readonly state: Activity;
	readonly kind: string | null;
	/** `likely` is right but for programs that do something unusual; a `guess` is made of text. */
	readonly confidence: "sure" | "likely" | "guess";
};

export type Inspection = Verdict & {
	/** The process that this is about. */
	readonly program: string | null;
	readonly pid: number | null;
	readonly cwd: string | null;
	/** How many the session has, in front or not; keepers that are older do not tell, and of one that has ended there is nothing to. */
	readonly processes?: number;
	/** It has another terminal than the session's own, made by a program of the session; older keepers do not tell. */
	readonly isInner?: boolean;
	/** Where the output ended then. */
	readonly offset: number;
	/** When the last byte came or went, or the program ended; milliseconds since the epoch. */
	readonly since: number;
	/** How long that was ago. */
	readonly quietMs: number;
	/** Counts the times at which it began to wait for somebody; of the latest one. */
	readonly episode: number;
};

/** A program whose output we read may be blocked in a write for moments; after this long it is not for moments. */
const FLOW_STOPPED_MS = 100;

/** Programs that ask their terminal give up after a time; fish, the most patient, after this long. */
const REPLY_MS = 10_000;

export const SHELLS: ReadonlySet<string> = new Set(
	"bash zsh fish dash sh ash ksh ksh93 mksh tcsh csh nu elvish xonsh pwsh".split(" "),
);

/** They show what runs where we can't look: on other machines, in containers, behind a server. */
const RELAYS: ReadonlySet<string> = new Set(
	"ssh mosh-client telnet tmux screen docker podman kubectl nerdctl lxc machinectl hawser".split(" "),
);

/** The first row that fits. */
export function decide(sight: Sight, surroundings: Surroundings): Verdict {
	const { own, hasQueuedInput, isPaused, isFullScreen, isAtPrompt, isAsking, quietMs } = surroundings;
	const program = sight.program ?? "";
	const isRaw = sight.hasTerminal && !sight.canonical;
	const isSecret = sight.hasTerminal && sight.canonical && !sight.echo;
	// tmux calls its client "tmux: client".
	const isRelay = sight.isSplit || (!sight.isInner && RELAYS.has(program.replace(/:.*/, "")));
	if (sight.pid === null) return verdict("unknown", "nobody");
	if (sight.unread > 0 || hasQueuedInput) return verdict("busy");
	// What a shell has begun without making a job of it, as fish reads manual pages, goes on beside its line editor.
	const isEditing = isRaw && sight.pid === own && SHELLS.has(program) && (sight.reads || sight.listens);
	if (sight.runs && !isEditing) return verdict("running");
	// What is stopped is still seen in the call in which it was.
	if (sight.isStopped) return verdict("stopped");
	if (sight.writes && isPaused) return verdict("flow-stopped", "reader");
	if (sight.writes) return quietMs < FLOW_STOPPED_MS ? verdict("running") : verdict("flow-stopped", "key");
	if (sight.reads && isSecret) return verdict("waiting", "secret");
	if (sight.reads && !isRaw) return verdict("waiting", "line");
	// Before all who take keys: of these, one that has asked takes the answer. Editors ask in passing, and who has typed
	// lines shown would show the answer, too.
	const awaitsReply = isAsking && !isFullScreen && !(sight.canonical && sight.echo) && quietMs < REPLY_MS;
	if (awaitsReply) return verdict("waiting", "reply");
	if (isRelay) return verdict("unknown", "relay");
	// A shell inside of what has the whole screen, as of a file manager, is not who takes the keys.
	const isShell = SHELLS.has(program) && !(sight.isInner && isFullScreen);
	if (isShell && isAtPrompt && (sight.reads || sight.listens)) return verdict("prompt");
	if (sight.reads) return verdict("waiting", "key");
	if (sight.listens && isRaw && isShell) return verdict("prompt", null, "likely");
	if (sight.listens && isRaw && isFullScreen) return verdict("tui", null, "likely");
	if (sight.listens && isRaw) return verdict("waiting", "key", "likely");
	if (sight.listens) return verdict("listening", null, "likely");
	if (sight.isDenied && isSecret) return verdict("waiting", "secret", "likely");
	if (sight.isDenied) return verdict("unknown", "denied");
	if (sight.isOnDisk) return verdict("disk");
	return verdict("sleeping", sight.call);
}

/** What the output has said about the stage that a program is on. */
export function stageOf({ alternate, marks, queries, offset }: ScanState): Stage {
	// A prompt has ended (B), and no command has begun (C) since; a directory (OSC 7) is told in between.
	const last = marks.findLast(({ code }) => code !== 7);
	return {
		isFullScreen: alternate.isOn,
		isAtPrompt: last !== undefined && /^B(;|$)/.test(last.text),
		isAsking: queries.at(-1)?.end === offset,
	};
}

type Stage = Pick<Surroundings, "isFullScreen" | "isAtPrompt" | "isAsking">;

/** Of what has no terminal. */
export const NO_STAGE: Stage = { isFullScreen: false, isAtPrompt: false, isAsking: false };

export const ENDED: Verdict = verdict("ended");
export const TOO_SLOW: Verdict = verdict("unknown", "slow");

function verdict(state: Activity, kind: string | null = null, confidence: Verdict["confidence"] = "sure"): Verdict {
	return { state, kind, confidence };
}

/** Whether it could not be looked at in time, which says nothing about it. */
export function isUnseen({ state, kind }: Pick<Verdict, "state" | "kind">): boolean {
	return state === TOO_SLOW.state && kind === TOO_SLOW.kind;
}

/** Whether it goes on only, or best, when somebody types. */
export function isWaiting({ state, kind }: Pick<Verdict, "state" | "kind">): boolean {
	return (state === "waiting" && kind !== "reply") || state === "prompt" || state === "tui";
}
