/** A command for the shell that a session is: how it is asked for, and what became of it. */

import type { ActOptions } from "./act.ts";
import type { Inspection } from "./inspection.ts";

export type RunStatus =
	/** It has ended. */
	| "ended"
	/** It runs, and the time is over. */
	| "running"
	/** It wants something typed. */
	| "waiting"
	/** It is no whole command; it was given up. */
	| "incomplete"
	/** The shell would not run it. */
	| "rejected"
	/** Something else runs or is being typed; nothing was sent. */
	| "busy";

export type RunRequest = {
	/** What to run; or the number of a command to go on waiting for. */
	readonly command: string | number;
	readonly timeoutMs: number;
	readonly options: ActOptions;
};

export type RunAnswer = {
	readonly status: RunStatus;
	/** The shell told all of this itself; else it is what was seen from outside, with no exit code. */
	readonly exact: boolean;
	/** The number of the command; null if none began. */
	readonly seq: number | null;
	readonly exitCode: number | null;
	readonly cwd: string | null;
	/** Where its output is: up to now, if it runs; what the shell said, if it was rejected; else empty, if it did not begin. */
	readonly output: { readonly from: number; readonly to: number };
	/** What is in front, unless the command has ended. */
	readonly front: Inspection | null;
	/** How far the input stream is. */
	readonly next: number;
};
