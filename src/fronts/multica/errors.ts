/** What goes wrong, in the codes of this protocol, and the close codes that follow. */

import { type Code, SessionError } from "../../core/errors.ts";

/** The first six are Multica's own; its clients only show them, so that others can be added. */
export type ErrorCode =
	| "workspace_mismatch"
	| "task_not_found"
	| "session_not_found"
	| "unsupported_os"
	| "spawn_failed"
	| "internal"
	| "unauthorized"
	| "forbidden"
	| "limit_reached"
	| "daemon_offline"
	| "open_timeout"
	| "too_large";

export class TerminalError extends Error {
	readonly code: ErrorCode;

	constructor(code: ErrorCode, message: string) {
		super(message);
		this.name = "TerminalError";
		this.code = code;
	}
}

/** Total by type: a new code does not compile until it has a row. */
const codesOf: Readonly<Record<Code, ErrorCode>> = {
	invalid_argument: "spawn_failed",
	unauthenticated: "unauthorized",
	token_ended: "unauthorized",
	permission_denied: "forbidden",
	not_found: "task_not_found",
	session_not_found: "session_not_found",
	conflict: "internal",
	session_exists: "internal",
	session_closed: "session_not_found",
	not_writable: "forbidden",
	not_waiting: "internal",
	not_approved: "forbidden",
	limit_exceeded: "limit_reached",
	spawn_failed: "spawn_failed",
	unsupported: "unsupported_os",
	node_unavailable: "daemon_offline",
	internal: "internal",
};

/** Anything thrown, as a client may see it; `report` hears of what is our own fault. */
export function toTerminalError(thrown: unknown, report: (problem: unknown) => void): TerminalError {
	if (thrown instanceof TerminalError) return thrown;
	const error = SessionError.from(thrown);
	if (error.code === "internal") report(error.cause ?? thrown);
	return new TerminalError(codesOf[error.code], error.message);
}

export const closeCodes = {
	done: 1000,
	refused: 1008,
	tooLarge: 1009,
	failed: 1011,
	restart: 1012,
	overload: 1013,
	takenOver: 4001,
} as const;

export const closeCodeOf: Readonly<Record<ErrorCode, number>> = {
	workspace_mismatch: closeCodes.refused,
	task_not_found: closeCodes.refused,
	session_not_found: closeCodes.refused,
	unsupported_os: closeCodes.failed,
	spawn_failed: closeCodes.failed,
	internal: closeCodes.failed,
	unauthorized: closeCodes.refused,
	forbidden: closeCodes.refused,
	limit_reached: closeCodes.overload,
	daemon_offline: closeCodes.overload,
	open_timeout: closeCodes.overload,
	too_large: closeCodes.tooLarge,
};
