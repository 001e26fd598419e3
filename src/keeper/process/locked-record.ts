/** A keeper's record of its session, under a lock that is held until the keeper exits. */

import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { invariant } from "../../core/errors.ts";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import {
	directoryIdentity,
	type KeeperProcess,
	lockDirectory,
	removeRecord,
	type SessionRecord,
	writeRecord,
} from "../link/session-record.ts";

type Content = Omit<SessionRecord, "version">;
type FirstContent = Omit<Content, "keeper"> & { readonly keeper: KeeperProcess };

export class LockedRecord {
	readonly directory: string;
	readonly #self: number;
	readonly #lock: number;
	#content: Content;
	#writing: Promise<void> | undefined;

	/** Locks the directory. The first update writes the record. */
	static async create(directory: string, content: FirstContent): Promise<LockedRecord> {
		await makePrivateDirectory(directory);
		const lock = await lockOrLeave(directory);
		const self = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
		const place = await directoryIdentity(directory);
		return new LockedRecord({ directory, self, lock }, { ...content, keeper: { ...content.keeper, place } });
	}

	private constructor(
		{ directory, self, lock }: { readonly directory: string; readonly self: number; readonly lock: number },
		content: Content,
	) {
		this.directory = directory;
		this.#self = self;
		this.#lock = lock;
		this.#content = content;
	}

	/** The path of the directory itself, even after it was moved and another one took its name. */
	get path(): string {
		return `/proc/self/fd/${this.#self}`;
	}

	/** Whether the directory was deleted, so that nothing can be written or read. */
	get isRemoved(): boolean {
		return fstatSync(this.#self).nlink === 0;
	}

	/** Whether the directory's path leads to another one, or to none. False if that can't be determined now. */
	get isElsewhere(): boolean {
		const self = fstatSync(this.#self);
		try {
			const found = statSync(this.directory, { throwIfNoEntry: false });
			return found === undefined || found.dev !== self.dev || found.ino !== self.ino;
		} catch {
			return false;
		}
	}

	/** Resolves when the change is on disk. Changes during a write are merged into one. */
	async update(change: Partial<Content>): Promise<void> {
		const content = { ...this.#content, ...change };
		this.#content = content;
		await this.#writing?.catch(() => {});
		if (this.#content !== content) return;
		this.#writing = writeRecord(this.path, content);
		await this.#writing;
	}

	/** Removes everything of the session. */
	async remove(): Promise<void> {
		await this.#writing?.catch(() => {});
		await removeRecord(this.directory);
		closeSync(this.#lock);
		closeSync(this.#self);
	}
}

/** Locks a directory. If that fails it is removed, if possible. */
async function lockOrLeave(directory: string): Promise<number> {
	try {
		const lock = lockDirectory(directory);
		invariant(lock !== null, `another keeper has locked ${directory}`);
		return lock;
	} catch (error) {
		// rmdir succeeds only if it is empty, so another keeper's files stay.
		await rmdir(directory).catch(() => {});
		throw error;
	}
}
