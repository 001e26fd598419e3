import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a private directory and its parents. Unlike mkdir with `recursive` in Node 20, it returns below /proc, and
 * does not report a full file system as a missing parent.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
	try {
		await mkdir(path, { mode: 0o700 });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EEXIST") return;
		const parent = dirname(path);
		const isParentMissing =
			code === "ENOENT" && parent !== path && (await stat(parent).catch(() => undefined)) === undefined;
		if (!isParentMissing) throw error;
		await makePrivateDirectory(parent);
		// Recurse instead of mkdir, because another process may create it at the same time.
		await makePrivateDirectory(path);
	}
}
