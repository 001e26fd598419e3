/** Opens regular files only, and never waits: a pipe or a device would keep one of Node's few threads for as long as it likes. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Undefined for whatever is no regular file; it is closed again then. */
export async function openRegular(path: Buffer, flags: number, mode?: number): Promise<FileHandle | undefined> {
	const file = await open(path, flags | constants.O_NONBLOCK | constants.O_NOCTTY, mode);
	const isRegular = await file.stat().then(
		(stats) => stats.isFile(),
		async (error: unknown) => {
			await file.close();
			throw error;
		},
	);
	if (isRegular) return file;
	await file.close();
	return undefined;
}
