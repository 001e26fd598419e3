/** Types of a session's state. */

/** The output stream of a program that the bytes came from. A terminal has only one. */
export type Stream = "stdout" | "stderr" | "pty";

export type Size = { readonly cols: number; readonly rows: number };

/** Why a program ended, if it did not end by itself. */
type EndReason = "timeout" | "idle" | "killed" | "oom";

/** The wait status: exactly one of `code` and `signal` is set, as the kernel reported it. */
export type Exit = {
	readonly code: number | null;
	readonly signal: string | null;
	readonly reason?: EndReason;
	/** The caller that ended it, if one did. */
	readonly by?: string;
};

export type Status = "running" | "exited" | "closed" | "lost";

/**
 * Which client sets the size of a terminal with several attached: the last one that attached, typed or resized; the
 * smallest; none, because it is fixed; or only an explicit resize of the session.
 */
export type SizePolicy = "latest" | "smallest" | "fixed" | "manual";

/** `#rrggbb` each. */
export type TerminalColors = { readonly foreground?: string; readonly background?: string };
