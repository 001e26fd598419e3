/** What a keeper leaves on disk of its session, for the servers to come; under a lock that ends only with the keeper. */

import { closeSync, existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { invariant } from "../core/errors.ts";
import { lockDirectory, placeOf, removeRecord, type SessionRecord, writeRecord } from "../link/record.ts";

type Content = Omit<SessionRecord, "version">;

export class OwnRecord {
	readonly directory: string;
	readonly #lock: number;
	#content: Content;
	#writing: Promise<void> | undefined;
	/** Nothing runs any more of the program and of all that it started. */
	isProgramGone = false;

	/** Takes the directory, and has the first record on disk when it resolves: whatever happens from here on, a server will find it. */
	static async create(directory: string, content: Content): Promise<OwnRecord> {
		await mkdir(directory, { recursive: true, mode: 0o700 });
		const lock = await lockOrLeave(directory);
		const place = await placeOf(directory);
		const record = new OwnRecord(directory, lock, { ...content, keeper: { ...content.keeper, place } });
		try {
			await record.update({});
			return record;
		} catch (error) {
			await record.remove();
			throw error;
		}
	}

	private constructor(directory: string, lock: number, content: Content) {
		this.directory = directory;
		this.#lock = lock;
		this.#content = content;
	}

	/** Somebody has taken the directory away, and so everything that could be read of the session. */
	get isRemoved(): boolean {
		return !existsSync(this.directory);
	}

	/** Resolves when this is on disk. One write at a time: of several changes during one, the last is written. */
	async update(change: Partial<Content>): Promise<void> {
		const content = { ...this.#content, ...change };
		this.#content = content;
		await this.#writing?.catch(() => {});
		if (this.#content !== content) return;
		this.#writing = writeRecord(this.directory, content);
		await this.#writing;
	}

	/** Nothing of the session stays. */
	async remove(): Promise<void> {
		await this.#writing?.catch(() => {});
		await removeRecord(this.directory);
		closeSync(this.#lock);
	}
}

/** What can't be locked, for want of a descriptor say, is not left behind either. */
async function lockOrLeave(directory: string): Promise<number> {
	try {
		const lock = lockDirectory(directory);
		invariant(lock !== null, `another keeper has ${directory}`);
		return lock;
	} catch (error) {
		// Only if it is empty, so that another's stays.
		await rmdir(directory).catch(() => {});
		throw error;
	}
}
