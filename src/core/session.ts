/** What fronts see of a session, wherever it lives: in this process, in a keeper, or on another node. */

import type { Item, Mark, Size, Start } from "./event.ts";
import type { Command, KillOptions, TerminalState } from "./process.ts";
import type { State } from "./state.ts";

/** How much of a session's past is kept. */
export type Retention = {
	readonly memoryBytes: number;
	/** Zero keeps no journal. */
	readonly journalBytes: number;
};

/** What was asked for when the session was created, and never changes. */
export type SessionSpec = {
	readonly id: string;
	readonly name: string | null;
	readonly labels: Readonly<Record<string, string>>;
	readonly workspace: string;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly mode: "pty" | "pipe";
	readonly durable: boolean;
	readonly retention: Retention;
	/** The program is ended after this long; zero means never. */
	readonly timeoutMs: number;
	/** How long it may take to end then; the usual grace when left out, and zero gives it none. */
	readonly timeoutGraceMs?: number;
	/** The program is ended after this long without output or input; zero means never. */
	readonly idleTimeoutMs: number;
	readonly createdAt: number;
};

/** A spec together with how to start its program; the environment goes no further than the process. */
export type SessionStart = { readonly spec: SessionSpec; readonly command: Command };

export type SessionInfo = SessionSpec &
	State & {
		readonly pid: number | null;
		/** The oldest output byte that can be read, and the one that comes next. */
		readonly offsets: { readonly oldest: number; readonly end: number };
		/** How many cursors read it now. */
		readonly attachments: number;
		readonly lease: Lease;
		readonly terminal: TerminalState | null;
	};

export type FollowOptions = {
	/** Ends the iteration, without an error, at the next item. */
	readonly signal?: AbortSignal;
	/** A lossless cursor holds the log and can pause the program; a live one is moved forward over a gap instead. */
	readonly flow?: "lossless" | "live";
};

/** One thing done to a process. Everything but a write takes one unit of its input stream. */
export type Act =
	| { readonly kind: "write"; readonly bytes: Uint8Array }
	| { readonly kind: "resize"; readonly size: Size }
	| {
			readonly kind: "signal";
			readonly signal: string /** Overtakes input that is still waiting. */;
			readonly urgent?: boolean;
	  }
	| { readonly kind: "eof" };

/** Which act this is, so that a repeated one is recognised; without it an act counts as new. */
export type Origin = {
	readonly stream: string;
	readonly position: number;
};

export type ActOptions = {
	readonly origin?: Origin /** The lease under which this is done. */;
	readonly fence?: number;
};

/** How far an input stream has come: `next` is the position wanted, `written` what the kernel took. */
export type Receipt = { readonly next: number; readonly written: number };

/** Who may write. The fence grows with each change of hands; an act under an older one is refused. */
export type Lease = {
	readonly fence: number;
	readonly holder: string | null;
	/** Only acts under the current fence are accepted. */
	readonly exclusive: boolean;
};

export interface Session {
	readonly id: string;
	readonly spec: SessionSpec;
	/** As far as it is known here: never ahead of what a cursor yields, and behind it for moments only. */
	readonly state: State;
	/** Calls back in the same turn as `state` changes, until the returned function is called; after a broken link perhaps with what was known. */
	watch(listener: (state: State) => void): () => void;
	info(): Promise<SessionInfo>;
	/** Everything from `start` on, then what happens, until the log's last event. Ends early only by the signal, or by an error for a lossless cursor that stood still at the bound. */
	follow(start: Start, options?: FollowOptions): AsyncIterable<Item>;
	/** Where the next event will stand. */
	end(): Promise<Mark>;
	/** Accepts what fits the stream's window, in order; `next` says how far. Resolves on acceptance, not on writing. */
	act(act: Act, options?: ActOptions): Promise<Receipt>;
	/** Resolves once `written` has passed `after`, or nothing can be written any more. */
	receipt(stream: string, after: number, signal?: AbortSignal): Promise<Receipt>;
	/** Gets control: with `take` from whoever has it, else only if nobody has it exclusively. */
	acquire(holder: string, options: { readonly exclusive: boolean; readonly take: boolean }): Promise<Lease>;
	release(fence: number): Promise<Lease>;
	/** Resolves with the lease once its fence or holder differs from what is given. */
	leaseChange(known: Lease, signal?: AbortSignal): Promise<Lease>;
	/** Ends the whole tree; resolves when nothing of it is left and the log is closed. */
	kill(options?: KillOptions): Promise<void>;
}
