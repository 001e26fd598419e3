/**
 * Disk space reserved for writes that must succeed on a full disk. Without it a server could neither start nor delete.
 */

import { randomBytes } from "node:crypto";
import { open, rm, stat, truncate } from "node:fs/promises";
import { Serial } from "../async/serial.ts";
import { writeAtomically } from "./write-atomically.ts";

/**
 * Enough to rewrite some thousands of tokens, or a workspace with hundreds of tasks.
 * @limit disk reserved for a start on a full disk | the start and deletions use it, and fill it again when there is space
 */
const RESERVE_BYTES = 256 * 1024;
/**
 * Additional files: a file system may have free space but no free inode. A start creates two.
 * @limit files reserved for a start without free inodes | the same
 */
const RESERVE_FILES = 16;

export class ReservedSpace {
	readonly #path: string;
	readonly #files: readonly string[];
	#isWhole = false;
	readonly #works = new Serial();

	constructor(path: string) {
		this.#path = path;
		this.#files = Array.from({ length: RESERVE_FILES }, (_, index) => `${path}.${index}`);
	}

	/** Takes the space, as far as there is any. */
	async fill(): Promise<void> {
		const size = await stat(this.#path).then(
			(file) => file.size,
			() => 0,
		);
		this.#isWhole = true;
		await this.#take(async () => {
			if (size < RESERVE_BYTES) await append(this.#path, RESERVE_BYTES - size);
		});
		await this.#take(async () => {
			for (const file of this.#files) await append(file, 0);
		});
	}

	/** Replaces a file as `writeAtomically` does. On a full disk it uses the reserve. */
	write(path: string, text: string): Promise<void> {
		return this.use(() => writeAtomically(path, text));
	}

	/** Runs a task, and on a full disk once more with the reserve released. One task at a time. */
	use<Result>(work: () => Promise<Result>): Promise<Result> {
		return this.#works.run(() => this.#use(work));
	}

	async #take(step: () => Promise<void>): Promise<void> {
		try {
			await step();
		} catch (error) {
			this.#isWhole = false;
			if (!isFull(error)) throw error;
		}
	}

	async #use<Result>(work: () => Promise<Result>): Promise<Result> {
		let result: Result;
		try {
			result = await work();
		} catch (error) {
			if (!isFull(error)) throw error;
			await this.#release();
			try {
				return await work();
			} finally {
				// Take it back in any case, before other processes use it.
				await this.fill();
			}
		}
		if (!this.#isWhole) await this.fill();
		return result;
	}

	async #release(): Promise<void> {
		this.#isWhole = false;
		await truncate(this.#path, 0).catch(unlessMissing);
		for (const file of this.#files) await rm(file, { force: true });
	}
}

/** Appends random bytes, which no file system can compress. */
async function append(path: string, bytes: number): Promise<void> {
	const file = await open(path, "a", 0o600);
	try {
		if (bytes > 0) await file.writeFile(randomBytes(bytes));
	} finally {
		await file.close();
	}
}

function isFull(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "ENOSPC" || code === "EDQUOT";
}

/** The reserve itself may be missing for lack of an inode. */
function unlessMissing(error: NodeJS.ErrnoException): void {
	if (error.code !== "ENOENT") throw error;
}
