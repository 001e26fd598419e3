/** What a caller can't have: one class, and a closed set of codes that every front maps to its own. */

export const codes = [
	"invalid_argument",
	"unauthenticated",
	"token_ended",
	"permission_denied",
	"not_found",
	"session_not_found",
	"conflict",
	"session_exists",
	"session_closed",
	"not_writable",
	"not_waiting",
	"not_approved",
	"limit_exceeded",
	"spawn_failed",
	"unsupported",
	"node_unavailable",
	"internal",
] as const;

export type Code = (typeof codes)[number];

/** An error that may be shown to the caller. Its message says what, which, and what would do. */
export class SessionError extends Error {
	readonly code: Code;
	/** What the caller can do about it, where the message does not already say so. */
	readonly hint: string | undefined;

	constructor(code: Code, message: string, options: { hint?: string; cause?: unknown } = {}) {
		super(message, { cause: options.cause });
		this.name = "SessionError";
		this.code = code;
		this.hint = options.hint;
	}

	/** Anything thrown, as what a caller may see; our own bugs become `internal` and keep their cause for the log. */
	static from(thrown: unknown): SessionError {
		if (thrown instanceof SessionError) return thrown;
		const code = (thrown as { readonly code?: unknown } | null | undefined)?.code;
		if (code === "ENOSPC" || code === "EDQUOT") {
			return new SessionError("limit_exceeded", `the server's disk is full (${code})`, {
				hint: "free some space, for instance by removing sessions that have ended",
				cause: thrown,
			});
		}
		return new SessionError("internal", "internal error; the server's log says more", { cause: thrown });
	}
}

/** Our bug, never the caller's: it is logged, and its text is not sent. */
export function invariant(condition: unknown, message: string): asserts condition {
	if (!condition) throw new Error(`invariant: ${message}`);
}
