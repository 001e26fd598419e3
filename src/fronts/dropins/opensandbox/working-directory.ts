/** Directories in requests: expands variables and `~` with the server's environment, and creates some directories. */

import { mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { ExecdError } from "./errors.ts";
import { defaultPlacement, type OpenSandboxOptions } from "./options.ts";
import { refusal } from "./request-body.ts";

/** Used to expand a path. */
type PathBase = {
	readonly env: Readonly<Record<string, string>>;
	/** Base of relative paths. */
	readonly cwd: string;
	/** The server's home, if `env` is not the server's environment. */
	readonly home?: string | undefined;
};

/** Returns the absolute path. Throws a plain error that names an undefined variable. */
export function expandPath(path: string, { env, cwd, home = env.HOME ?? homedir() }: PathBase): string {
	const expanded = path.replace(/\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g, (_, braced?: string, plain?: string) => {
		const name = braced ?? plain ?? "";
		const value = Object.hasOwn(env, name) ? env[name] : undefined;
		if (value === undefined)
			throw new Error(`undefined variable ${JSON.stringify(name)} in path ${JSON.stringify(path)}`);
		return value;
	});
	return resolve(
		cwd,
		expanded.replace(/^~(?=\/|$)/, () => home),
	);
}

/** The working directory of a run, which must exist. Undefined if none was given. */
export async function existingDirectory(path: string, around: PathBase): Promise<string | undefined> {
	if (path === "") return undefined;
	try {
		const expanded = expandPath(path, around);
		if ((await stat(expanded)).isDirectory()) return expanded;
	} catch (error) {
		throw refusal(`cwd: ${reasonOf(error)}`);
	}
	throw refusal(`cwd: ${JSON.stringify(path)} is not a directory`);
}

/**
 * The directory of a session, created if missing, except in a workspace with a required sandbox, where programs might
 * not be able to create it. Undefined if none was given.
 */
export async function madeDirectory(
	path: string,
	around: PathBase,
	workspaces?: OpenSandboxOptions["workspaces"],
): Promise<string | undefined> {
	if (path === "") return undefined;
	if (workspaces?.get(defaultPlacement.workspace)?.sandbox) return existingDirectory(path, around);
	try {
		const expanded = expandPath(path, around);
		await mkdir(expanded, { recursive: true });
		return expanded;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOSPC" || code === "EDQUOT") throw error;
		// Not a valid name of any directory, such as one with a NUL.
		if (code === "ERR_INVALID_ARG_VALUE") throw refusal(`cwd: ${reasonOf(error)}`);
		throw new ExecdError(500, "RUNTIME_ERROR", `cwd: ${reasonOf(error)}`, { cause: error });
	}
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
