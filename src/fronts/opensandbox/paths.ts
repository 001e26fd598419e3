/** Directories as requests name them: variables and `~` stand for what the daemon has, and some are made when they are missing. */

import { mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { ExecdError } from "./answers.ts";
import { refusal } from "./body.ts";

/** What a path is expanded from. */
type PathBase = {
	readonly env: Readonly<Record<string, string>>;
	/** What a relative path is relative to. */
	readonly cwd: string;
	/** The daemon's, where `env` is not the daemon's own. */
	readonly home?: string | undefined;
};

/** The absolute path; throws a plain error that says which variable is not defined. */
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

/** For what runs in a directory: it must be there. Undefined when none was given. */
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

/** For what is to live in a directory: it is made when it is missing. Undefined when none was given. */
export async function madeDirectory(path: string, around: PathBase): Promise<string | undefined> {
	if (path === "") return undefined;
	try {
		const expanded = expandPath(path, around);
		await mkdir(expanded, { recursive: true });
		return expanded;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOSPC" || code === "EDQUOT") throw error;
		// What can't be the name of any directory, such as one with a NUL.
		if (code === "ERR_INVALID_ARG_VALUE") throw refusal(`cwd: ${reasonOf(error)}`);
		throw new ExecdError(500, "RUNTIME_ERROR", `cwd: ${reasonOf(error)}`, { cause: error });
	}
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
