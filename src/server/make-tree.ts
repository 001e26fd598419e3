/** Makes a private directory, with those above it. */

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Like mkdir with `recursive`, which in Node 20 never returns below /proc. */
export async function makeTree(path: string): Promise<void> {
	try {
		await mkdir(path, { mode: 0o700 });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EEXIST") return;
		const parent = dirname(path);
		const isParentMissing =
			code === "ENOENT" && parent !== path && (await stat(parent).catch(() => undefined)) === undefined;
		if (!isParentMissing) throw error;
		await makeTree(parent);
		// Not mkdir: somebody else may make it at the same time.
		await makeTree(path);
	}
}
