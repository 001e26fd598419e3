/** What ends a command with a sentence instead of a stack, and the exit code that goes with it. */

import { HawserError } from "../client/index.ts";
import type { ErrorCode } from "../protocol/messages.ts";

/** `run`, `attach` and `wait` end with the program's own code, so what is wrong with us has numbers of its own. */
export const LOST = 254;
export const NOT_ATTACHED = 255;

/** Total by type: a new code does not compile until it has a row. */
export const exitCode: Readonly<Record<ErrorCode, number>> = {
	invalid_argument: 1,
	unauthenticated: 1,
	permission_denied: 1,
	not_found: 3,
	session_not_found: 3,
	conflict: 1,
	session_exists: 1,
	session_closed: 1,
	not_writable: 1,
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

/** What to do where the server says nothing of it. */
const hints: Readonly<Partial<Record<ErrorCode, string>>> = {
	not_writable: "hawser attach --take takes control",
	unauthenticated: "show a token with --token or HAWSER_TOKEN; hawser token create makes one",
};

/** The server's hints are for those who write programs; what some of them mean for those who type commands. */
const inCommands: readonly (readonly [says: RegExp, means: string])[] = [
	[/attachment\.take|take control again|attach as a writer/, "hawser attach --take takes control"],
	[/Authorization: Bearer/, "show a token with --token or HAWSER_TOKEN; hawser token create makes one"],
	[/force=1/, "end them first, or use --force, which ends them"],
	[/PUT \/v1\/workspaces/, "the operator declares it with hawser workspace set"],
	[/choose another name, or end that session/, "choose another name, or hawser kill that session"],
];

function hintOf({ code, hint }: { readonly code: ErrorCode; readonly hint: string | undefined }): string | undefined {
	if (hint === undefined) return hints[code];
	return inCommands.find(([says]) => says.test(hint))?.[1] ?? hint;
}

/** The same for what the kernel refuses a server. */
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
		return { sentence: withHint(error.message, hintOf(error)), exitCode: exitCode[error.code] ?? 1 };
	}
	if (isRefusal(error)) return { sentence: withHint(error.message, error.hint), exitCode: exitCode[error.code] ?? 1 };
	if (error instanceof UsageError) return { sentence: error.message, exitCode: error.exitCode };
	if (missingParts.has(reasonOf(error)) && error instanceof Error)
		return { sentence: withHint(`a part of hawser can't be loaded: ${error.message}`, missingHint), exitCode: 1 };
	// Settings that make no sense, and files that can't be read, say themselves what is wrong.
	const isPlain = error instanceof Error && (error.name === "ConfigError" || "syscall" in error);
	if (!isPlain) return undefined;
	const reason = reasonOf(error) ?? "";
	if (reason === "EMFILE") return { sentence: withHint(error.message, tooManyFiles), exitCode: 1 };
	const hint = "syscall" in error && error.syscall === "listen" ? serverHints[reason] : undefined;
	return { sentence: withHint(error.message, hint), exitCode: 1 };
}

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
