/** Errors that end a command with a message instead of a stack trace, and their exit codes. */

import { getSystemErrorMap } from "node:util";
import type { ErrorCode } from "../../api/types.ts";
import { HawserError } from "../../client/errors.ts";
import { toCliError } from "./error-text.ts";

/** `run`, `attach` and `wait` exit with the program's code, so our own failures use these. */
export const EXIT_CONNECTION_LOST = 254;
export const EXIT_NOT_STARTED = 255;

/** Exhaustive: adding an error code is a compile error until it has a row. */
export const exitCode: Readonly<Record<ErrorCode, number>> = {
	invalid_argument: 1,
	unauthenticated: 1,
	token_ended: 1,
	permission_denied: 1,
	not_found: 3,
	session_not_found: 3,
	conflict: 1,
	session_exists: 1,
	session_closed: 1,
	not_writable: 1,
	not_waiting: 1,
	stale: 1,
	blocked: 1,
	invalid_choice: 1,
	not_approved: 1,
	limit_exceeded: 1,
	spawn_failed: 1,
	unsupported: 1,
	node_unavailable: 1,
	internal: 1,
};

/** A mistake of the user, reported in one sentence. */
export class UsageError extends Error {
	readonly exitCode: number;

	constructor(message: string, code = 1) {
		super(message);
		this.name = "UsageError";
		this.exitCode = code;
	}
}

/** Hints for errors when the server starts to listen. */
const serverHints: Readonly<Record<string, string>> = {
	EACCES: "ports below 1024 need root; choose a higher --port",
	EADDRNOTAVAIL: "no such address on this machine; choose another --host",
};

/** Node's codes for a missing module. It also reports these when too many files are open. */
const missingParts: ReadonlySet<string | undefined> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);
const missingHint = "reinstall hawser, or raise the open file limit with ulimit -n 65536";
const tooManyFiles = "raise the open file limit with ulimit -n 65536";

/** The message and exit code for an error; undefined for an internal error. */
export function toUserError(error: unknown): { message: string; exitCode: number } | undefined {
	if (error instanceof HawserError) {
		const { message, hint } = toCliError(error);
		return { message: withHint(message, hint), exitCode: exitCode[error.code] ?? 1 };
	}
	if (isRefusal(error)) return { message: withHint(error.message, error.hint), exitCode: exitCode[error.code] ?? 1 };
	if (error instanceof UsageError) return { message: error.message, exitCode: error.exitCode };
	if (!(error instanceof Error)) return undefined;
	if (missingParts.has(errorCode(error)))
		return { message: withHint(`can't load hawser: ${error.message}`, missingHint), exitCode: 1 };
	if ("syscall" in error) return { message: ofSystem(error as NodeJS.ErrnoException), exitCode: 1 };
	// A configuration error explains itself.
	return error.name === "ConfigError" ? { message: error.message, exitCode: 1 } : undefined;
}

/** A system call error, as a sentence about the file. */
function ofSystem(error: NodeJS.ErrnoException): string {
	const { syscall, path, errno, code = "" } = error;
	if (isPortInUse(error)) {
		const option = process.env.npm_lifecycle_event === "start" ? "npm start -- --port 0" : "--port";
		return `port ${error.port} on ${error.address} is in use; choose another with ${option}, or stop the server there`;
	}
	if (syscall === "listen") return withHint(error.message, serverHints[code]);
	if (code === "EMFILE") return withHint(error.message, tooManyFiles);
	const [, why] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
	if (path === undefined || why === undefined) return error.message;
	return `can't ${failedVerbs[syscall ?? ""] ?? "use"} ${path}: ${why}`;
}

/** A Unix socket in use has no port. */
function isPortInUse(
	error: NodeJS.ErrnoException,
): error is NodeJS.ErrnoException & { readonly address: string; readonly port: number } {
	return error.syscall === "listen" && error.code === "EADDRINUSE" && "address" in error && "port" in error;
}

const failedVerbs: Readonly<Record<string, string>> = {
	open: "open",
	mkdir: "create",
	scandir: "read",
	access: "use",
};

/** The code of an error of any kind. */
export function errorCode(error: unknown): string | undefined {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	return typeof code === "string" ? code : undefined;
}

function withHint(message: string, hint: string | undefined): string {
	return hint === undefined ? message : `${message} (${hint})`;
}

/** Exit handler for commander in `run`, `attach` and `wait`, whose exit codes are the program's. */
export function exitNotStarted({ exitCode: code }: { readonly exitCode: number }): never {
	process.exit(code === 0 ? 0 : EXIT_NOT_STARTED);
}

/** The same for errors during the start. */
export async function withStartErrors(start: () => Promise<void>): Promise<void> {
	process.on("uncaughtExceptionMonitor", () => {
		process.on("exit", () => {
			process.exitCode = EXIT_NOT_STARTED;
		});
	});
	try {
		await start();
	} catch (error) {
		const explained = toUserError(error);
		throw explained ? new UsageError(explained.message, EXIT_NOT_STARTED) : error;
	}
}

/** An error that the server throws when it can't start. */
function isRefusal(error: unknown): error is Error & { code: ErrorCode; hint: string | undefined } {
	return error instanceof Error && error.name === "SessionError";
}
