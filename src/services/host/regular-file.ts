/** Opens regular files without blocking. Opening a pipe or device could block one of Node's few threads indefinitely. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Undefined, with the file closed, if it is not a regular file. */
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
