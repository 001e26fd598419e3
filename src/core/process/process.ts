/** The interface of a backend: starting a program and acting on it. */

import type { Exit, Size } from "../../words/state.ts";
import { SessionError } from "../errors.ts";
import type { Fact } from "../log/event.ts";
import type { ProcessSnapshot } from "./process-snapshot.ts";
import type { RequiredSandbox, SandboxPolicy } from "./sandbox-policy.ts";

export type Command = {
	/** The program and its arguments. A name without a slash is looked up in the PATH of `env`. */
	readonly argv: readonly string[];
	/** The program's own name as it sees it. Defaults to `argv[0]`. */
	readonly arg0?: string;
	/** The whole environment. Nothing is added. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
	/** `cwd` had no symbolic link when access was checked. The start fails if it has one now. */
	readonly isRealCwd?: boolean;
	readonly mode: "pty" | "pipe";
	/** The terminal's size. Ignored for pipes. */
	readonly size: Size;
	/** On pipes, `closed` gives the program an empty input from the start. */
	readonly stdin: "open" | "closed";
	/** For pipes, `merged` sends stderr to stdout, which keeps the order of writes. */
	readonly stderr?: "apart" | "merged";
	readonly uid?: number;
	readonly gid?: number;
	/** Supplementary groups. Defaults to none for another user. */
	readonly groups?: readonly number[];
	/**
	 * Attributes that the program inherits from the server's environment. Defaults to those of the process that starts
	 * it.
	 */
	readonly inherited?: Inherited;
	/** Soft and hard limits at once, named as in `setrlimit` in lower case. */
	readonly limits?: Readonly<Partial<Record<"nofile" | "nproc" | "as" | "core" | "fsize" | "cpu", number>>>;
	/**
	 * Restricts the program's access. Defaults to none beyond its user's. The registry must resolve it; backends refuse it.
	 */
	readonly sandbox?: SandboxPolicy;
	/** The minimum that `sandbox` must enforce, and the default without one. Backends refuse it too. */
	readonly requiredSandbox?: RequiredSandbox;
	/**
	 * Directories that are mount points while the program runs. Missing ones are created, and removed afterwards unless
	 * they were filled or another program uses them.
	 */
	readonly placeholders?: readonly string[];
	/** A control group that is created for the program and removed after its last process. */
	readonly cgroup?: ControlGroup;
	/**
	 * How long `closed` waits after `exited` for other processes that hold the terminal or the pipes. Null waits for all.
	 */
	readonly drainMs: number | null;
	/** Marks every descendant, so that the whole tree can be found again (HAWSER_SESSION). */
	readonly sessionId: string;
};

/** Limits for all processes of a program together, as a cgroup v2. */
export type ControlGroup = {
	readonly path: string;
	/** Values written to its files before the program enters it. */
	readonly settings: Readonly<Record<string, string>>;
};

/** The values that a login shell of the server's user has. A keeper has changed its own values. */
export type Inherited = {
	readonly umask: number;
	/** The soft limit for open files. The hard one can't be changed. */
	readonly openFiles: number;
};

export type KillOptions = {
	/**
	 * Sent first, once, to every process of the tree that exists then. Defaults to SIGHUP and SIGCONT for a terminal,
	 * SIGTERM for pipes.
	 */
	readonly signal?: string;
	/** Time for the tree to exit by itself before SIGKILL. */
	readonly graceMs?: number;
	/** Reason of the exit, if the program was still running. */
	readonly reason?: "timeout" | "idle" | "killed";
	readonly by?: string;
};

/** The state of a terminal that can be seen without reading its output. */
export type TerminalState = {
	/** The foreground process group, which key presses would signal. */
	readonly foreground: number;
	readonly echo: boolean;
	readonly canonical: boolean;
	/** The foreground process group is not the program's own, for example a shell's job. */
	readonly hasJob: boolean;
};

/** A running program. Methods called after its end do nothing or reject. */
export interface Process {
	readonly pid: number;
	/** Resolves after `closed`, when the program and all its descendants are gone, possibly much later. */
	readonly gone: Promise<void>;
	/**
	 * Returns undefined if the kernel took every byte at once, so that the receipt can say so in the same turn. Otherwise
	 * resolves when it did, or rejects with `session_closed`. One write at a time.
	 */
	write(bytes: Uint8Array): Promise<void> | void;
	/** Ends the input: closes the pipe, or types the terminal's end-of-file character. */
	eof(): Promise<void>;
	resize(size: Size): void;
	/** Signals the terminal's foreground group, as a key press would, or the program's group on pipes. */
	signal(name: string): void;
	/** Stops reading output, so that the program blocks. At most one more read may be reported. */
	pause(): void;
	resume(): void;
	/** Reports the output that the kernel has now. Does nothing while paused. */
	catchUp(): void;
	terminal(): TerminalState | undefined;
	/**
	 * A snapshot of the foreground processes; undefined after `closed`. Unless one of them runs, all their earlier output
	 * has been reported. A program can make this take arbitrarily long.
	 */
	look(): Promise<ProcessSnapshot | undefined>;
	/**
	 * Ends the whole tree, including processes that hid, and resolves when none is left. Idempotent; works after `closed`
	 * too.
	 */
	kill(options?: KillOptions): Promise<void>;
}

/**
 * Starts a program and reports its facts: output, `exited` once, and finally `closed`. Rejects with `spawn_failed` and
 * the system's reason if it can't be started; nothing was reported then.
 */
export type Spawn = (command: Command, report: (fact: Fact) => void) => Promise<Process>;

/** Adds the reason of a requested end to the exit. */
export function withReason(exit: Exit, options: KillOptions | undefined): Exit {
	if (options?.reason === undefined) return exit;
	return { ...exit, reason: options.reason, ...(options.by === undefined ? {} : { by: options.by }) };
}

/** Refuses sizes that the kernel would truncate to 16 bits. */
export function checkSize({ cols, rows }: Size): void {
	for (const [name, value] of Object.entries({ cols, rows })) {
		if (Number.isInteger(value) && value >= 1 && value <= 65_535) continue;
		throw new SessionError("invalid_argument", `${name} must be a whole number from 1 to 65535, not ${value}`);
	}
}
