/** Running a command in the session's shell: the request and its outcome. */

import type { ActOptions } from "../input/action.ts";
import type { Inspection } from "../inspect/inspection.ts";

export type RunStatus =
	/** It has ended. */
	| "ended"
	/** It still runs when the time is over. */
	| "running"
	/** It waits for input. */
	| "waiting"
	/** The shell considered it incomplete; it was canceled. */
	| "incomplete"
	/** The shell refused to run it. */
	| "rejected"
	/** Nothing was sent; `why` has the reason. */
	| "busy";

export type BusyReason =
	/** Another command runs, or is about to. */
	| "command"
	/** There is unfinished text at the prompt: typed, recalled, or typed ahead while a command ran. */
	| "typed"
	/** The shell had not reached its prompt when the time was over. A retry may succeed. */
	| "starting";

export type RunRequest = {
	/** The command to run, or the number of a command to wait for. */
	readonly command: string | number;
	readonly timeoutMs: number;
	readonly options: ActOptions;
};

export type RunOutcome = {
	readonly status: RunStatus;
	/** Reason of `busy`. */
	readonly why?: BusyReason;
	/** The shell reported this itself. Otherwise it was observed from outside, without an exit code. */
	readonly exact: boolean;
	/** Why a shell for which hooks were made has none. */
	readonly unhookedBy?: string | null;
	/** Number of the command; null if none began. */
	readonly seq: number | null;
	readonly exitCode: number | null;
	readonly cwd: string | null;
	/** Range of its output: up to now if it runs; the shell's message if it was rejected; empty if it did not begin. */
	readonly output: { readonly from: number; readonly to: number };
	/** The foreground process, unless the command has ended. */
	readonly front: Inspection | null;
	/** Next position of the input stream. */
	readonly next: number;
};
