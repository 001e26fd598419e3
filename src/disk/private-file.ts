/** Reads files that contain secrets or decide who gets them. No other user may have written or be able to read them. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { SessionError } from "../core/errors.ts";
import { allocateOffHeap } from "../core/secrets/secret-memory.ts";
import { checkTrusted } from "./trusted-path.ts";

/** Forbidden mode bits of such a file: no access by others at all, or read access by a group only. */
export const OWNER_ALONE = 0o077;
export const GROUP_READS = 0o037;

const ROOT = 0;

/** Reads the whole file into memory that can be overwritten. Errors never contain its content. */
export async function readPrivate(path: string, forbidden: number, maxBytes: number): Promise<Buffer> {
	await checkTrusted(path);
	// O_NONBLOCK: a pipe must not block here; it is refused below.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
		throw refusal(`${path} can't be read (${error.code})`);
	});
	const bytes = allocateOffHeap(maxBytes + 1);
	try {
		const status = await file.stat();
		if (!status.isFile()) throw refusal(`${path} is not a regular file`);
		if (status.uid !== ROOT && status.uid !== process.getuid?.()) throw refusal(`${path} belongs to another user`);
		if ((status.mode & forbidden) !== 0) throw refusal(`${path} is accessible to other users; chmod 600 fixes that`);
		let length = 0;
		for (let got = -1; got !== 0 && length < bytes.byteLength; length += got) {
			got = (await file.read(bytes, length)).bytesRead;
		}
		if (length > maxBytes) throw refusal(`${path} is too large (limit ${maxBytes} bytes)`);
		return bytes.subarray(0, length);
	} catch (error) {
		bytes.fill(0);
		throw error;
	} finally {
		await file.close();
	}
}

function refusal(message: string): SessionError {
	return new SessionError("permission_denied", message);
}
