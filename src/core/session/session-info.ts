/** The data of a session: its specification, state and details. */

import type { Size, SizePolicy, TerminalColors } from "../../words/state.ts";
import type { State } from "../log/session-state.ts";
import type { Command, TerminalState } from "../process/process.ts";
import type { Lease } from "./lease.ts";

/** How much of a session's output is retained. */
export type Retention = {
	readonly memoryBytes: number;
	/** Zero keeps no journal. */
	readonly journalBytes: number;
};

/** The request that created the session. Only its name can change. */
export type SessionSpec = {
	readonly id: string;
	readonly name: string | null;
	readonly labels: Readonly<Record<string, string>>;
	readonly workspace: string;
	/** The task of the workspace that it was started for. */
	readonly task?: string;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly mode: "pty" | "pipe";
	/** Size of the terminal at the start. Older records lack it. */
	readonly firstSize?: Size;
	/** Size policy at the start. Defaults to `latest`. */
	readonly firstSizePolicy?: SizePolicy;
	readonly durable: boolean;
	readonly retention: Retention;
	/** The program is ended after this long; zero means never. */
	readonly timeoutMs: number;
	/** Grace period of that timeout. Defaults to the usual one; zero means none. */
	readonly timeoutGraceMs?: number;
	/** The program is ended after this long without output or accepted input; zero means never. */
	readonly idleTimeoutMs: number;
	/** Whether the session replies to terminal queries while no attached terminal does. Defaults to false. */
	readonly answersQueries?: boolean;
	/** The terminal colors that it reports then. Defaults to light on dark. */
	readonly colors?: TerminalColors;
	/** A terminal is about to attach that replies from the first byte on. The session waits for it for a short time. */
	readonly awaitsTerminal?: boolean;
	/** Whether shells that it starts get hooks that mark prompts and commands. Defaults to false. */
	readonly shellHooks?: boolean;
	/** A job in the foreground of a shell's terminal counts as activity. Ignored for pipes. */
	readonly idleExemptJobs?: boolean;
	/** Holds the log from its start until the first lossless reader comes, so that no output is lost before. */
	readonly holdOutput?: boolean;
	readonly createdAt: number;
	/** Digests of the idempotency key and of the request, which identify a retry. */
	readonly request?: { readonly key: string; readonly body: string };
};

/** A spec with the command to start. The environment is passed to the process only. */
export type SessionStart = { readonly spec: SessionSpec; readonly command: Command };

export type SessionInfo = SessionSpec &
	State & {
		readonly pid: number | null;
		/** The oldest output byte that can be read, and the next one. */
		readonly offsets: { readonly oldest: number; readonly end: number };
		/** Number of cursors that read it now. */
		readonly attachments: number;
		readonly lease: Lease;
		/** Time of the last input or output byte. Unknown for sessions that ended before this server started. */
		readonly activeAt?: number;
		readonly terminal: TerminalState | null;
		/** Missing once the session has ended. */
		readonly sizePolicy?: SizePolicy;
	};

/** The part of the session's data that can change. */
export type SessionDetails = Omit<SessionInfo, keyof SessionSpec>;
