/** Decides what a session's program is waiting for, from a snapshot of its processes. */

import type { Activity } from "../../words/activity.ts";
import type { ProcessSnapshot } from "../process/process-snapshot.ts";
import type { ScanState } from "../terminal/terminal-scan.ts";

/** Facts that the session adds to a snapshot. */
export type InspectionContext = {
	/** The process that the session started; undefined when there is none. */
	readonly own: number | undefined;
	/** Input was accepted that the kernel has not taken yet. */
	readonly hasQueuedInput: boolean;
	/** The session does not read the program's output now. */
	readonly isPaused: boolean;
	/** The program uses the alternate screen, as editors do. */
	readonly isFullScreen: boolean;
	/** How certain it is that the shell in the foreground is at its prompt; null if it is not. */
	readonly prompt: ActivityVerdict["confidence"] | null;
	/** The output ends with a query to the terminal, and no input followed. */
	readonly isAsking: boolean;
	/** Time since the last output. */
	readonly quietMs: number;
};

export type ActivityVerdict = {
	readonly state: Activity;
	readonly kind: string | null;
	/** `likely` is wrong only for unusual programs; a `guess` is based on the text of the output. */
	readonly confidence: "sure" | "likely" | "guess";
};

export type Inspection = ActivityVerdict & {
	/** The process that the verdict is about. */
	readonly program: string | null;
	readonly pid: number | null;
	readonly cwd: string | null;
	/** Number of processes in the session, in the foreground or not. Missing once it has ended. */
	readonly processes?: number;
	/** The program runs in a nested terminal, which another program of the session made. */
	readonly isInner?: boolean;
	/** The end of the output at that time. */
	readonly offset: number;
	/** Time of the last input or output byte, or of the program's end; milliseconds since the epoch. */
	readonly since: number;
	/** Time since then. */
	readonly quietMs: number;
	/** Counts the times at which the program began to wait for input; this is the current or last wait. */
	readonly episode: number;
};

/** A program may block in a write for a moment even though its output is read. After this time it is flow-stopped. */
const FLOW_STOPPED_MS = 100;

/** Programs give up waiting for a reply of the terminal after at most this time, which is fish's timeout. */
const REPLY_MS = 10_000;

export const SHELLS: ReadonlySet<string> = new Set(
	"bash zsh fish dash sh ash ksh ksh93 mksh tcsh csh nu elvish xonsh pwsh".split(" "),
);

/** Programs whose real activity is elsewhere: on another machine, in a container, behind a server. */
const RELAYS: ReadonlySet<string> = new Set(
	"ssh mosh-client telnet tmux screen docker podman kubectl nerdctl lxc machinectl hawser".split(" "),
);

/** The first rule that applies wins. */
export function decide(snapshot: ProcessSnapshot, context: InspectionContext): ActivityVerdict {
	const { own, hasQueuedInput, isPaused, isFullScreen, prompt, isAsking, quietMs } = context;
	const program = snapshot.program ?? "";
	const isRaw = snapshot.hasTerminal && !snapshot.canonical;
	const isSecret = snapshot.hasTerminal && snapshot.canonical && !snapshot.echo;
	// tmux calls its client "tmux: client".
	const isRelay = snapshot.isSplit || (!snapshot.isInner && RELAYS.has(program.replace(/:.*/, "")));
	if (snapshot.pid === null) return verdict("unknown", "no-process");
	if (snapshot.unread > 0 || hasQueuedInput) return verdict("busy");
	// A shell may run a process outside of a job, as fish does to read manual pages, and still be at its prompt.
	const isShell = SHELLS.has(program) && (snapshot.pid === own || (prompt !== null && prompt !== "guess"));
	const isEditing = isRaw && isShell && (snapshot.reads || snapshot.listens);
	if (snapshot.runs && !isEditing) return verdict("running");
	// A stopped process still shows the system call that it was in.
	if (snapshot.isStopped) return verdict("stopped");
	if (snapshot.writes && isPaused) return verdict("flow-stopped", "reader");
	if (snapshot.writes) return quietMs < FLOW_STOPPED_MS ? verdict("running") : verdict("flow-stopped", "key");
	// Comes before all rules about keys: a program that has sent a query reads the reply. Editors query in passing, and a
	// program with echo on would show the reply.
	const awaitsReply = isAsking && !isFullScreen && !(snapshot.canonical && snapshot.echo) && quietMs < REPLY_MS;
	// A shell in a nested terminal under a full-screen program, such as a file manager, does not get the keys.
	const isPrompt = prompt !== null && !snapshot.isSplit && !(snapshot.isInner && isFullScreen);
	if (isPrompt && !awaitsReply) return verdict("prompt", null, prompt);
	if (snapshot.reads && isSecret) return verdict("waiting", "secret");
	if (snapshot.reads && !isRaw) return verdict("waiting", "line");
	if (awaitsReply) return verdict("waiting", "reply");
	if (isRelay) return verdict("unknown", "relay");
	if (snapshot.reads) return verdict("waiting", "key");
	if (snapshot.listens && isRaw && isFullScreen) return verdict("tui", null, "likely");
	if (snapshot.listens && isRaw) return verdict("waiting", "key", "likely");
	// A line without echo is a secret, also if the program waits for it with a timeout, as `read -s -t` does.
	if (snapshot.listens && isSecret) return verdict("waiting", "secret", "likely");
	if (snapshot.listens) return verdict("listening", null, "likely");
	if (snapshot.isDenied && isSecret) return verdict("waiting", "secret", "likely");
	if (snapshot.isDenied) return verdict("unknown", "denied");
	if (snapshot.isOnDisk) return verdict("disk");
	return verdict("sleeping", snapshot.call);
}

/** The part of the context that comes from the output. */
export function outputContext({ alternate, marks, queries, offset }: ScanState): Stage {
	// A prompt has ended (B) and no command has begun (C) since. OSC 7 in between reports the directory.
	const last = marks.findLast(({ code }) => code !== 7);
	return {
		isFullScreen: alternate.isOn,
		isMarked: last !== undefined && /^B(;|$)/.test(last.text),
		isAsking: queries.at(-1)?.end === offset,
	};
}

type Stage = Pick<InspectionContext, "isFullScreen" | "isAsking"> & {
	/** The last shell mark in the output is the end of a prompt. */
	readonly isMarked: boolean;
};

/** For sessions without a terminal. */
export const NO_OUTPUT_CONTEXT: Stage = { isFullScreen: false, isMarked: false, isAsking: false };

export const ENDED: ActivityVerdict = verdict("ended");
export const TOO_SLOW: ActivityVerdict = verdict("unknown", "slow");

function verdict(
	state: Activity,
	kind: string | null = null,
	confidence: ActivityVerdict["confidence"] = "sure",
): ActivityVerdict {
	return { state, kind, confidence };
}

/** Whether the inspection timed out, which says nothing about the program. */
export function isTimedOut({ state, kind }: Pick<ActivityVerdict, "state" | "kind">): boolean {
	return state === TOO_SLOW.state && kind === TOO_SLOW.kind;
}

/** Whether the program waits for a user's input. */
export function isWaitingForInput({ state, kind }: Pick<ActivityVerdict, "state" | "kind">): boolean {
	return (state === "waiting" && kind !== "reply") || state === "prompt" || state === "tui";
}

/** Whether a shell is ready for a command. A guess from text is not enough reason to type one. */
export function isAtPrompt({ state, confidence }: Pick<ActivityVerdict, "state" | "confidence">): boolean {
	return state === "prompt" && confidence !== "guess";
}

/** Whether a secret may be typed: the program reads a line without echo. The only place that decides this. */
export function isSecretRead({ state, kind }: Pick<ActivityVerdict, "state" | "kind">): boolean {
	return state === "waiting" && kind === "secret";
}
