import type { Code } from "../words/error-code.ts";

type SessionErrorOptions = {
	readonly hint?: string;
	readonly retryAfterMs?: number;
	readonly extra?: Readonly<Record<string, unknown>>;
	readonly cause?: unknown;
};

/** An error that may be shown to the caller. Its message says what failed, which thing, and what would work. */
export class SessionError extends Error {
	readonly code: Code;
	/** A remedy for the caller, unless the message already says so. */
	readonly hint: string | undefined;
	/** The same request may succeed after this time. Undefined if waiting alone does not help. */
	readonly retryAfterMs: number | undefined;
	/** Further members of the error's body in the native API. */
	readonly extra: Readonly<Record<string, unknown>> | undefined;

	constructor(code: Code, message: string, options: SessionErrorOptions = {}) {
		super(message, { cause: options.cause });
		this.name = "SessionError";
		this.code = code;
		this.hint = options.hint;
		this.retryAfterMs = options.retryAfterMs;
		this.extra = options.extra;
	}

	/**
	 * Converts anything thrown into an error for the caller. Conditions of the machine have their own codes. Our own bugs
	 * become `internal` and keep their cause for the log.
	 */
	static from(thrown: unknown): SessionError {
		if (thrown instanceof SessionError) return thrown;
		const condition = conditionOf(thrown);
		if (condition) {
			const { code, what, hint } = condition;
			return new SessionError(code, `${what} (${errnoOf(thrown)})`, { hint, cause: thrown });
		}
		return new SessionError("internal", "internal error; see the server's log", { cause: thrown });
	}

	/** Whether it belongs in the server's log: our own bugs, and file system failures. */
	get isForLog(): boolean {
		const isFileFailure = !(this.cause instanceof SessionError) && errnoOf(this.cause) !== "";
		return this.code === "internal" || (this.code === "node_unavailable" && isFileFailure);
	}
}

type Condition = { readonly code: Code; readonly what: string; readonly hint: string };

const openFiles = "end sessions, or raise the server's limit: ulimit -n, or LimitNOFILE= of its unit";
const full: Condition = {
	code: "limit_exceeded",
	what: "the server's disk is full",
	hint: "free some space, for instance by removing sessions that have ended",
};
const failing: Condition = {
	code: "node_unavailable",
	what: "the server can't read or write its files at the moment",
	hint: "try again; if it persists, the operator finds the file in the server's log",
};

type ConditionName = "EMFILE" | "ENFILE" | "ENOMEM" | "ENOSPC" | "EDQUOT" | "EIO" | "EROFS" | "ESTALE";

/** Conditions of the machine by errno. They are not bugs, and may pass without a change to the server. */
export const conditions: Readonly<Record<ConditionName, Condition>> = {
	EMFILE: { code: "limit_exceeded", what: "the server has too many files open", hint: openFiles },
	ENFILE: { code: "limit_exceeded", what: "the machine has too many files open", hint: "see /proc/sys/fs/file-max" },
	ENOMEM: {
		code: "limit_exceeded",
		what: "there is not enough memory",
		hint: "end sessions, or try again later",
	},
	ENOSPC: full,
	EDQUOT: full,
	EIO: failing,
	EROFS: { ...failing, what: "the server's disk is read-only" },
	ESTALE: failing,
};

/** Errors that mean a failing file system if they name a path, and something else otherwise. */
const fileErrors: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ENOTDIR", "ELOOP", "ENODEV", "ENXIO", "ENOTCONN"]);

function conditionOf(thrown: unknown): Condition | undefined {
	const code = errnoOf(thrown);
	if (Object.hasOwn(conditions, code)) return conditions[code as ConditionName];
	const hasPath = typeof (thrown as { readonly path?: unknown } | null | undefined)?.path === "string";
	return hasPath && fileErrors.has(code) ? failing : undefined;
}

/** The code of a system error, or "" for anything else. */
function errnoOf(thrown: unknown): string {
	const code = (thrown as { readonly code?: unknown } | null | undefined)?.code;
	return typeof code === "string" ? code : "";
}

/** Reports a bug of ours, never the caller's mistake. It is logged, and its text is not sent. */
export function invariant(condition: unknown, message: string): asserts condition {
	if (!condition) throw new Error(`invariant: ${message}`);
}
