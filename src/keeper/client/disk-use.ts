/** Measures the disk use of all sessions, at intervals. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/async/clock.ts";
import { checkpointFile, journalDirectory } from "../link/session-record.ts";

/**
 * Age of a measurement after which it is repeated, because it reads the size of every journal file.
 * @limit how often disk use is measured | once in % | a later start is checked with the last value
 */
const FRESH_MS = 10_000;

export class DiskUse {
	readonly #directory: string;
	readonly #clock: Clock;
	#measured: { readonly bytes: number; readonly at: number } | undefined;

	/** `directory` contains one directory per session. */
	constructor(directory: string, clock: Clock) {
		this.#directory = directory;
		this.#clock = clock;
	}

	/** A recent measurement, minus what was freed since. */
	async recent(): Promise<number> {
		const { at = Number.NEGATIVE_INFINITY, bytes = 0 } = this.#measured ?? {};
		if (this.#clock.monotonic() - at < FRESH_MS) return bytes;
		return this.latest();
	}

	/** A new measurement, or the last one if the directory can't be read at the moment. */
	latest(): Promise<number> {
		return this.#measure().catch(() => this.#measured?.bytes ?? 0);
	}

	async #measure(): Promise<number> {
		const at = this.#clock.monotonic();
		const ids = await readdir(this.#directory);
		const sizes = await Promise.all(ids.map((id) => this.bytesOf(id)));
		const bytes = sum(sizes);
		this.#measured = { bytes, at };
		return bytes;
	}

	/** Subtracts a session that is about to be removed. */
	async subtract(id: string): Promise<void> {
		const freed = await this.bytesOf(id);
		if (this.#measured) this.#measured = { ...this.#measured, bytes: this.#measured.bytes - freed };
	}

	/** The size of a journal and its checkpoints. Files that disappear meanwhile count as zero. */
	async bytesOf(id: string): Promise<number> {
		const directory = journalDirectory(join(this.#directory, id));
		const names = await readdir(directory).catch(() => []);
		const journal = names.map((name) => sizeOf(join(directory, name)));
		return sum(await Promise.all([this.checkpointBytesOf(id), ...journal]));
	}

	checkpointBytesOf(id: string): Promise<number> {
		return sizeOf(checkpointFile(join(this.#directory, id)));
	}
}

function sizeOf(path: string): Promise<number> {
	return stat(path).then(
		({ size }) => size,
		() => 0,
	);
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}
