/** Finds shells on the host. */

import { access, constants, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";

export type Shell = { readonly name: string; readonly path: string };

/** The first of these names that is executable. Each name is searched in all directories before the next. */
export async function findShell(names: readonly string[], directories: readonly string[]): Promise<Shell | undefined> {
	for (const name of names) {
		for (const directory of directories) {
			const path = join(directory, name);
			if (await isExecutable(path)) return { name, path };
		}
	}
	return undefined;
}

/** The login shell of the account that runs the server. */
export function loginShell(): string {
	try {
		return userInfo().shell || "/bin/sh";
	} catch {
		// The account may have no passwd entry.
		return "/bin/sh";
	}
}

export async function isExecutable(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return (await stat(path)).isFile();
	} catch {
		return false;
	}
}
