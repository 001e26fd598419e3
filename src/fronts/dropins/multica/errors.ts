/** Error codes of this protocol and their close codes. */

import { SessionError } from "../../../core/errors.ts";
import type { Code } from "../../../words/error-code.ts";

/** The first six are Multica's. Clients only display codes, so the others could be added. */
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

/** Exhaustive: a new code is a compile error until it has a row. */
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
	stale: "internal",
	blocked: "internal",
	invalid_choice: "internal",
	not_approved: "forbidden",
	limit_exceeded: "limit_reached",
	spawn_failed: "spawn_failed",
	unsupported: "unsupported_os",
	node_unavailable: "daemon_offline",
	internal: "internal",
};

/** Converts anything thrown to an error for the client. Internal errors go to `report`. */
export function toTerminalError(thrown: unknown, report: (problem: unknown) => void): TerminalError {
	if (thrown instanceof TerminalError) return thrown;
	const error = SessionError.from(thrown);
	if (error.isForLog) report(error.cause ?? thrown);
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
