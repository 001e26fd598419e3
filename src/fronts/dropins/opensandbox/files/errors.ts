/** Converts file errors to execd's errors. */

import { ExecdError } from "../errors.ts";

/** Whether a system call failed, or its argument was invalid (a path with a NUL). */
function isFileFailure(thrown: unknown): thrown is NodeJS.ErrnoException {
	if (!(thrown instanceof Error) || !("code" in thrown)) return false;
	return "syscall" in thrown || thrown.code === "ERR_INVALID_ARG_VALUE";
}

export function codeOf(thrown: unknown): string | undefined {
	return isFileFailure(thrown) ? thrown.code : undefined;
}

/** For requests on one file: a missing file is 404. Internal errors and execd errors are returned unchanged. */
export function fileError(thrown: unknown): unknown {
	if (!isFileFailure(thrown)) return thrown;
	// It was opened without blocking, and has no data.
	if (thrown.code === "EAGAIN")
		return new ExecdError(400, "INVALID_FILE", "the file is not a regular file and has no data to read", {
			cause: thrown,
		});
	return thrown.code === "ENOENT"
		? new ExecdError(404, "FILE_NOT_FOUND", `file not found. ${thrown.message}`, { cause: thrown })
		: new ExecdError(500, "RUNTIME_ERROR", `error accessing file: ${thrown.message}`, { cause: thrown });
}

/** For requests on many files; `what` names the file. */
export function runtimeError(what: string): (thrown: unknown) => unknown {
	return (thrown) =>
		isFileFailure(thrown)
			? new ExecdError(500, "RUNTIME_ERROR", `${what}. ${thrown.message}`, { cause: thrown })
			: thrown;
}

/** Runs `act` and translates its errors. */
export async function withFileErrors<T>(translate: (thrown: unknown) => unknown, act: () => Promise<T>): Promise<T> {
	try {
		return await act();
	} catch (thrown) {
		throw translate(thrown);
	}
}
