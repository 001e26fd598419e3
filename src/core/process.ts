/** What a backend must be: how the core starts a program and acts on it. */

import { SessionError } from "./errors.ts";
import type { Exit, Fact, Size } from "./event.ts";
import type { Sight } from "./inspection.ts";
import type { SandboxPolicy } from "./sandbox.ts";

export type Command = {
	/** The program and its arguments. A name without a slash is looked up in the PATH of `env`. */
	readonly argv: readonly string[];
	/** What the program sees as its own name; `argv[0]` when left out. */
	readonly arg0?: string;
	/** The whole environment; nothing is added. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
	/** No part of `cwd` was a link when somebody looked whether it is allowed; it is not started if one is now. */
	readonly isRealCwd?: boolean;
	readonly mode: "pty" | "pipe";
	/** The terminal's size; of no effect on pipes. */
	readonly size: Size;
	/** On pipes, `closed` gives the program an empty input from the start. */
	readonly stdin: "open" | "closed";
	/** On pipes, `merged` sends stderr into stdout, so that the order in which they were written is kept. */
	readonly stderr?: "apart" | "merged";
	readonly uid?: number;
	readonly gid?: number;
	/** The groups it is in besides; none, for another user, when left out. */
	readonly groups?: readonly number[];
	/** What it takes over from whoever started the server; what its keeper or server has itself, when left out. */
	readonly inherited?: Inherited;
	/** Soft and hard limit at once, by the names of `setrlimit` in lower case. */
	readonly limits?: Readonly<Partial<Record<"nofile" | "nproc" | "as" | "core" | "fsize" | "cpu", number>>>;
	/** What it may reach; everything its user may, when left out. A backend takes no command that still has one. */
	readonly sandbox?: SandboxPolicy;
	/**
	 * Directories that stand for something while it runs: made if nothing has their name, and gone when nothing of it is
	 * left, unless somebody filled them or another program needs them.
	 */
	readonly placeholders?: readonly string[];
	/** The control group that is made for it, and is gone when nothing of it is left. */
	readonly cgroup?: ControlGroup;
	/** How long `closed` may wait after `exited` for others that still hold the terminal or the pipes; null waits for them. */
	readonly drainMs: number | null;
	/** Marks every descendant, so that the whole tree can be found again; see HAWSER_SESSION. */
	readonly sessionId: string;
};

/** Limits all processes of a program together, in the way of cgroup v2. */
export type ControlGroup = {
	readonly path: string;
	/** What is written to its files before the program enters it. */
	readonly settings: Readonly<Record<string, string>>;
};

/** What a login shell of the server's user would have, wherever the session lives: a keeper has changed its own. */
export type Inherited = {
	readonly umask: number;
	/** The soft limit for open files; the hard one is nobody's to change. */
	readonly openFiles: number;
};

export type KillOptions = {
	/** Sent first, to every process of the tree; SIGHUP and SIGCONT for a terminal, SIGTERM for pipes. */
	readonly signal?: string;
	/** How long the tree may take to end by itself before SIGKILL. */
	readonly graceMs?: number;
	/** Becomes the reason of the exit, when the program was still running. */
	readonly reason?: "timeout" | "idle" | "killed";
	readonly by?: string;
};

/** What can be seen of a terminal without reading its output. */
export type TerminalState = {
	/** The foreground process group, which key presses would signal. */
	readonly foreground: number;
	readonly echo: boolean;
	readonly canonical: boolean;
	/** Somebody else than the program itself is in the foreground, as a shell's job is. */
	readonly hasJob: boolean;
};

/** A running program. Methods called after its end do nothing or reject; they never throw our bugs. */
export interface Process {
	readonly pid: number;
	/** Resolves when the kernel took every byte; rejects with `session_closed` when it can't any more. One at a time. */
	write(bytes: Uint8Array): Promise<void>;
	/** Ends the input: closes the pipe, or types the terminal's end-of-file character. */
	eof(): Promise<void>;
	resize(size: Size): void;
	/** To the terminal's foreground group as a key press would, on pipes to the program's group. */
	signal(name: string): void;
	/** Stops reading output, so that the program blocks; at most one more read may still be reported. */
	pause(): void;
	resume(): void;
	terminal(): TerminalState | undefined;
	/**
	 * What its processes in front do now; undefined after `closed`. Unless one of them runs, all that they wrote before was
	 * reported. May take any time where a program wants that.
	 */
	look(): Promise<Sight | undefined>;
	/** Ends the whole tree, whatever its members did to hide, and resolves when none is left. Idempotent; works after `closed` too. */
	kill(options?: KillOptions): Promise<void>;
}

/**
 * Starts a program and reports what happens to it: output, `exited` once, then, last of all, `closed`.
 * Rejects with `spawn_failed` and the real reason when it can't be started; nothing was reported then.
 */
export type Spawn = (command: Command, report: (fact: Fact) => void) => Promise<Process>;

/** How an exit is described when `reason` is known only to who asked for the end. */
export function withReason(exit: Exit, options: KillOptions | undefined): Exit {
	if (options?.reason === undefined) return exit;
	return { ...exit, reason: options.reason, ...(options.by === undefined ? {} : { by: options.by }) };
}

/** Refuses what the kernel would cut to 16 bits. */
export function checkSize({ cols, rows }: Size): void {
	for (const [name, value] of Object.entries({ cols, rows })) {
		if (Number.isInteger(value) && value >= 1 && value <= 65_535) continue;
		throw new SessionError("invalid_argument", `${name} must be a whole number from 1 to 65535, not ${value}`);
	}
}
