/** Small files that are whole after any crash. */

import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Replaces a file, for its owner alone, so that a crash leaves the old one or the new one, never a part. */
export async function writeAtomically(path: string, text: string): Promise<void> {
	const temporary = `${path}.new`;
	try {
		const file = await open(temporary, "w", 0o600);
		try {
			await file.writeFile(text);
			await file.datasync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
	} catch (error) {
		// A part of it would take the room that whoever tries again needs.
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
	await syncDirectory(dirname(path));
}

/** Makes sure that what has just got or lost its name there stays so. */
export async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r");
	await directory.sync().finally(() => directory.close());
}
