/** What the directories of all sessions take on disk, measured no more often than need be. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { journalDirectory } from "../link/record.ts";

/** A measurement looks at every file of every journal; so old it may be. */
const FRESH_MS = 10_000;

export class DiskUse {
	readonly #directory: string;
	readonly #clock: Clock;
	#measured: { readonly bytes: number; readonly at: number } | undefined;

	/** `directory` holds one directory per session. */
	constructor(directory: string, clock: Clock) {
		this.#directory = directory;
		this.#clock = clock;
	}

	/** As of a moment ago; counts what was freed since. */
	async recent(): Promise<number> {
		const { at = Number.NEGATIVE_INFINITY, bytes = 0 } = this.#measured ?? {};
		if (this.#clock.monotonic() - at < FRESH_MS) return bytes;
		// Without a free descriptor, say, what was known must do.
		return this.now().catch(() => bytes);
	}

	async now(): Promise<number> {
		const at = this.#clock.monotonic();
		const ids = await readdir(this.#directory);
		const sizes = await Promise.all(ids.map((id) => this.bytesOf(id)));
		const bytes = sum(sizes);
		this.#measured = { bytes, at };
		return bytes;
	}

	/** Takes out what a session has, which is about to be removed. */
	async subtract(id: string): Promise<void> {
		const freed = await this.bytesOf(id);
		if (this.#measured) this.#measured = { ...this.#measured, bytes: this.#measured.bytes - freed };
	}

	/** The size of a journal; nothing for one that is not there, or goes while we look. */
	async bytesOf(id: string): Promise<number> {
		const directory = journalDirectory(join(this.#directory, id));
		const names = await readdir(directory).catch(() => []);
		const sizeOf = (name: string) =>
			stat(join(directory, name)).then(
				({ size }) => size,
				() => 0,
			);
		return sum(await Promise.all(names.map(sizeOf)));
	}
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}
