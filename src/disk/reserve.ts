/** Room on disk that is kept for what must be written when there is no other: without it a server could neither start nor forget. */

import { randomBytes } from "node:crypto";
import { open, stat, truncate } from "node:fs/promises";
import { writeAtomically } from "./write-atomically.ts";

/** Enough for some thousands of tokens, or a workspace with hundreds of tasks, to be written beside its old self. */
const RESERVE_BYTES = 256 * 1024;

export class Reserve {
	readonly #path: string;
	#isWhole = false;
	#last: Promise<void> = Promise.resolve();

	constructor(path: string) {
		this.#path = path;
	}

	/** Takes the room, or as much of it as there is. */
	async fill(): Promise<void> {
		const size = await stat(this.#path).then(
			(file) => file.size,
			() => 0,
		);
		try {
			if (size < RESERVE_BYTES) await append(this.#path, RESERVE_BYTES - size);
			this.#isWhole = true;
		} catch (error) {
			this.#isWhole = false;
			if (!isFull(error)) throw error;
		}
	}

	/** Replaces a file as `writeAtomically` does; when the disk is full, with the room that is kept. One at a time. */
	write(path: string, text: string): Promise<void> {
		const written = this.#last.then(() => this.#write(path, text));
		this.#last = written.catch(() => {});
		return written;
	}

	async #write(path: string, text: string): Promise<void> {
		try {
			await writeAtomically(path, text);
			if (this.#isWhole) return;
		} catch (error) {
			if (!isFull(error)) throw error;
			await truncate(this.#path, 0);
			try {
				return await writeAtomically(path, text);
			} finally {
				// Taken again whatever came of it, before somebody else takes it.
				await this.fill();
			}
		}
		await this.fill();
	}
}

/** Bytes that no file system makes smaller. */
async function append(path: string, bytes: number): Promise<void> {
	const file = await open(path, "a", 0o600);
	try {
		await file.writeFile(randomBytes(bytes));
	} finally {
		await file.close();
	}
}

function isFull(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "ENOSPC" || code === "EDQUOT";
}
