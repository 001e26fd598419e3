import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Replaces a file, readable by its owner only, so that a crash leaves either the old or the new content. */
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
		// An incomplete file would take the space that a retry needs.
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
	await syncDirectory(dirname(path));
}

/** Makes a created, renamed or deleted entry durable. */
export async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r");
	await directory.sync().finally(() => directory.close());
}
