/** Files that are trusted with secrets, or with who gets them: nobody else can have written them, or read what is in them. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { SessionError } from "../core/errors.ts";
import { outsideHeap } from "../core/outside-heap.ts";
import { checkTrusted } from "./trusted-path.ts";

/** What others may not do with such a file, as bits of its mode: anything at all; or only a group may read it. */
export const OWNER_ALONE = 0o077;
export const GROUP_READS = 0o037;

const ROOT = 0;

/** All of it, in memory that can be overwritten. What is refused is refused with a sentence, and nothing of the file in it. */
export async function readPrivate(path: string, forbidden: number, maxBytes: number): Promise<Buffer> {
	await checkTrusted(path);
	// A pipe must not keep us waiting: it is refused.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
		throw refusal(`${path} can't be read (${error.code})`);
	});
	const bytes = outsideHeap(maxBytes + 1);
	try {
		const status = await file.stat();
		if (!status.isFile()) throw refusal(`${path} is not a regular file`);
		if (status.uid !== ROOT && status.uid !== process.getuid?.()) throw refusal(`${path} belongs to another user`);
		if ((status.mode & forbidden) !== 0) throw refusal(`${path} is open to others: chmod 600 closes it`);
		let length = 0;
		for (let got = -1; got !== 0 && length < bytes.byteLength; length += got) {
			got = (await file.read(bytes, length)).bytesRead;
		}
		if (length > maxBytes) throw refusal(`${path} has more than ${maxBytes} bytes`);
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
