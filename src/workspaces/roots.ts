/** Whether a directory is in one of those that a workspace may use, by their real paths. */

import { realpath } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";

/** How long a file server may take to answer, as for the start of a program. */
const LOOKUP_MS = 10_000;

/**
 * The real path of `directory`. What it leads to may change as soon as we have looked: whoever starts a program there
 * must make sure that it is still the same (`Command.isRealCwd`).
 */
export async function findWithin(roots: readonly string[], directory: string, clock: Clock): Promise<string> {
	const [found, ...allowed] = await within(clock, [
		realpath(directory),
		// A root that is not there has nothing in it.
		...roots.map((root) => realpath(root).catch(() => undefined)),
	]).catch((error: unknown) => {
		throw notFound(directory, error);
	});
	if (found !== undefined && allowed.some((root) => root !== undefined && isWithin(root, found))) return found;
	throw new SessionError("permission_denied", `${JSON.stringify(directory)} is in no root of the workspace`, {
		hint: `programs are started there in ${roots.join(", ")}, or below`,
	});
}

function isWithin(root: string, path: string): boolean {
	return path === root || path.startsWith(root === "/" ? root : `${root}/`);
}

function within<T>(clock: Clock, lookups: readonly Promise<T>[]): Promise<T[]> {
	return new Promise((resolve, reject) => {
		const late = new SessionError("spawn_failed", `the directory did not answer within ${LOOKUP_MS / 1000} s`, {
			hint: "it may be on a file server that is away",
		});
		const cancel = clock.after(LOOKUP_MS, () => reject(late));
		Promise.all(lookups).then(resolve, reject).finally(cancel);
	});
}

const reasons: Readonly<Record<string, string>> = {
	ENOENT: "no such directory",
	ENOTDIR: "not a directory",
	EACCES: "permission denied",
	ELOOP: "it leads to itself",
};

function notFound(directory: string, error: unknown): unknown {
	const { code = "" } = error as NodeJS.ErrnoException;
	const reason = reasons[code];
	if (reason === undefined) return error;
	return new SessionError("spawn_failed", `cannot start in ${JSON.stringify(directory)}: ${reason} (${code})`, {
		cause: error,
	});
}
