/** What ends a command with a sentence instead of a stack, and the exit code that goes with it. */

import { getSystemErrorMap } from "node:util";
import { HawserError } from "../client/error.ts";
import type { ErrorCode } from "../protocol/messages.ts";
import { inCommands } from "./wording.ts";

/** `run`, `attach` and `wait` end with the program's own code, so what is wrong with us has numbers of its own. */
export const LOST = 254;
export const NOT_ATTACHED = 255;

/** Total by type: a new code does not compile until it has a row. */
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
	not_approved: 1,
	limit_exceeded: 1,
	spawn_failed: 1,
	unsupported: 1,
	node_unavailable: 1,
	internal: 1,
};

/** A mistake of the user's, said in one sentence. */
export class UsageError extends Error {
	readonly exitCode: number;

	constructor(message: string, code = 1) {
		super(message);
		this.name = "UsageError";
		this.exitCode = code;
	}
}

/** What to do when the kernel refuses a server its port. */
const serverHints: Readonly<Record<string, string>> = {
	EADDRINUSE: "choose another --port, such as 0 for any that is free, or stop what has it",
	EACCES: "choose a --port from 1024 on",
	EADDRNOTAVAIL: "choose a --host that this machine has",
};

/** What Node says of a module that it can't find, and also of one that it may not open because too many files are. */
const missingParts: ReadonlySet<string | undefined> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);
const missingHint = "raise the limit of open files if it is low: ulimit -n 65536; install hawser again if it is not";
const tooManyFiles = "raise the limit of open files: ulimit -n 65536";

/** The sentence and the exit code for anything thrown; undefined when it is a bug of ours. */
export function explain(error: unknown): { sentence: string; exitCode: number } | undefined {
	if (error instanceof HawserError) {
		const { message, hint } = inCommands(error);
		return { sentence: withHint(message, hint), exitCode: exitCode[error.code] ?? 1 };
	}
	if (isRefusal(error)) return { sentence: withHint(error.message, error.hint), exitCode: exitCode[error.code] ?? 1 };
	if (error instanceof UsageError) return { sentence: error.message, exitCode: error.exitCode };
	if (!(error instanceof Error)) return undefined;
	if (missingParts.has(reasonOf(error)))
		return { sentence: withHint(`a part of hawser can't be loaded: ${error.message}`, missingHint), exitCode: 1 };
	if ("syscall" in error) return { sentence: ofSystem(error as NodeJS.ErrnoException), exitCode: 1 };
	// Settings that make no sense say themselves what is wrong.
	return error.name === "ConfigError" ? { sentence: error.message, exitCode: 1 } : undefined;
}

/** What the kernel refused, as a sentence about the file. */
function ofSystem(error: NodeJS.ErrnoException): string {
	const { syscall, path, errno, code = "" } = error;
	if (syscall === "listen") return withHint(error.message, serverHints[code]);
	if (code === "EMFILE") return withHint(error.message, tooManyFiles);
	const [, why] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
	if (path === undefined || why === undefined) return error.message;
	return `${path} can't be ${refusedActs[syscall ?? ""] ?? "used"}: ${why}`;
}

const refusedActs: Readonly<Record<string, string>> = {
	open: "opened",
	mkdir: "made",
	scandir: "read",
	access: "used",
};

/** The code of an error, whoever gave it one. */
export function reasonOf(error: unknown): string | undefined {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	return typeof code === "string" ? code : undefined;
}

function withHint(message: string, hint: string | undefined): string {
	return hint === undefined ? message : `${message} (${hint})`;
}

/** For what commander refuses in `run`, `attach` and `wait`, whose exit codes are the program's: this is not one of them. */
export function endNotAttached({ exitCode: code }: { readonly exitCode: number }): never {
	process.exit(code === 0 ? 0 : NOT_ATTACHED);
}

/** The same for what goes wrong later. */
export async function orNotAttached(start: () => Promise<void>): Promise<void> {
	process.on("uncaughtExceptionMonitor", () => {
		process.on("exit", () => {
			process.exitCode = NOT_ATTACHED;
		});
	});
	try {
		await start();
	} catch (error) {
		const explained = explain(error);
		throw explained ? new UsageError(explained.sentence, NOT_ATTACHED) : error;
	}
}

/** What the server itself throws when it can't be started; the same as what it would answer. */
function isRefusal(error: unknown): error is Error & { code: ErrorCode; hint: string | undefined } {
	return error instanceof Error && error.name === "SessionError";
}
