/** What the kernel refused, as execd says it. */

import { ExecdError } from "../answers.ts";

/** Whether something that was asked of the kernel failed: it said so, or it can't even be asked (a path with a NUL). */
function isFileFailure(thrown: unknown): thrown is NodeJS.ErrnoException {
	if (!(thrown instanceof Error) || !("code" in thrown)) return false;
	return "syscall" in thrown || thrown.code === "ERR_INVALID_ARG_VALUE";
}

export function codeOf(thrown: unknown): string | undefined {
	return isFileFailure(thrown) ? thrown.code : undefined;
}

/** For what is about one file: what is not there is 404. Our own bugs, and what is an answer already, stay what they are. */
export function fileError(thrown: unknown): unknown {
	if (!isFileFailure(thrown)) return thrown;
	// It is opened so that nobody waits for it.
	if (thrown.code === "EAGAIN")
		return new ExecdError(400, "INVALID_FILE", "the file has nothing to read yet, and no end", { cause: thrown });
	return thrown.code === "ENOENT"
		? new ExecdError(404, "FILE_NOT_FOUND", `file not found. ${thrown.message}`, { cause: thrown })
		: new ExecdError(500, "RUNTIME_ERROR", `error accessing file: ${thrown.message}`, { cause: thrown });
}

/** For what is one of many: `what` names it. */
export function runtimeError(what: string): (thrown: unknown) => unknown {
	return (thrown) =>
		isFileFailure(thrown)
			? new ExecdError(500, "RUNTIME_ERROR", `${what}. ${thrown.message}`, { cause: thrown })
			: thrown;
}

/** Does something, and says what went wrong in other words. */
export async function saying<T>(translate: (thrown: unknown) => unknown, act: () => Promise<T>): Promise<T> {
	try {
		return await act();
	} catch (thrown) {
		throw translate(thrown);
	}
}
