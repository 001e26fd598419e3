/** A snapshot of the activity of a session's foreground processes. */
export type ProcessSnapshot = {
	/** Whether they use a terminal, not pipes. */
	readonly hasTerminal: boolean;
	/** A nested terminal, made by a program of the session, such as a recorder. */
	readonly isInner: boolean;
	/** There are several nested terminals, or one that we may not open, so its state is unknown. */
	readonly isSplit: boolean;
	readonly canonical: boolean;
	/** This terminal, or an outer one, echoes input. */
	readonly echo: boolean;
	/** Bytes of input that the program has not read. */
	readonly unread: number;
	/** At least one process runs; is blocked reading its input; writing to the terminal; or polling several inputs. */
	readonly runs: boolean;
	readonly reads: boolean;
	readonly writes: boolean;
	readonly listens: boolean;
	readonly isOnDisk: boolean;
	/** All processes are stopped. */
	readonly isStopped: boolean;
	/** We lack permission to see what one of them does. */
	readonly isDenied: boolean;
	/** The process that determines the activity; null when there is none. */
	readonly pid: number | null;
	/** Identifies the process and its executable: it differs after pid reuse and after exec. */
	readonly image: string | null;
	readonly program: string | null;
	readonly cwd: string | null;
	/**
	 * The call that the process sleeps in: `sleep`, `child`, `thread`, `socket`, `lock`, `signal`, `events`, `read`, `write` or
	 * `other`.
	 */
	readonly call: string | null;
	/** Stack bytes that its first thread uses at the call in which it waits for input; null if unknown. */
	readonly depth: number | null;
	readonly argv: readonly string[];
	/** Number of processes, in the foreground or not, counted up to 256. */
	readonly processes: number;
};
