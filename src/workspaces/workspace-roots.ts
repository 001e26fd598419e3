/** Checks whether a directory lies within the roots of a workspace, by real paths. */

import { realpath } from "node:fs/promises";
import type { Clock } from "../core/async/clock.ts";
import { SessionError } from "../core/errors.ts";

/**
 * Time for a file server to answer, as at the start of a program.
 * @limit lookup of a directory that must be in a root | `spawn_failed`; one of Node's file threads waits on
 */
const LOOKUP_MS = 10_000;

/**
 * Returns the real path of `directory`. The directory may be replaced right afterwards, so the code that starts a
 * program there must check it again (`Command.isRealCwd`).
 */
export async function resolveWithinRoots(roots: readonly string[], directory: string, clock: Clock): Promise<string> {
	const [found, ...allowed] = await within(clock, [
		realpath(directory),
		// A root that does not exist contains nothing.
		...roots.map((root) => realpath(root).catch(() => undefined)),
	]).catch((error: unknown) => {
		throw notFound(directory, error);
	});
	if (found !== undefined && allowed.some((root) => root !== undefined && isWithin(root, found))) return found;
	throw new SessionError("permission_denied", `${JSON.stringify(directory)} is outside the workspace's roots`, {
		hint: `allowed roots: ${roots.join(", ")}`,
	});
}

function isWithin(root: string, path: string): boolean {
	return path === root || path.startsWith(root === "/" ? root : `${root}/`);
}

function within<T>(clock: Clock, lookups: readonly Promise<T>[]): Promise<T[]> {
	return new Promise((resolve, reject) => {
		const late = new SessionError("spawn_failed", `the directory did not answer within ${LOOKUP_MS / 1000} s`, {
			hint: "it may be on an unreachable file server",
		});
		const cancel = clock.after(LOOKUP_MS, () => reject(late));
		Promise.all(lookups).then(resolve, reject).finally(cancel);
	});
}

const reasons: Readonly<Record<string, string>> = {
	ENOENT: "no such directory",
	ENOTDIR: "not a directory",
	EACCES: "permission denied",
	ELOOP: "symbolic link loop",
};

function notFound(directory: string, error: unknown): unknown {
	const { code = "" } = error as NodeJS.ErrnoException;
	const reason = reasons[code];
	if (reason === undefined) return error;
	return new SessionError("spawn_failed", `cannot start in ${JSON.stringify(directory)}: ${reason} (${code})`, {
		cause: error,
	});
}
