/** Entries waiting for the disk. Those that do not fit are counted, and the count takes their place. */

import type { Content } from "./audit-files.ts";

/**
 * Limits of the queue: a minute of a busy server.
 * @limit entries that the disk has not taken | the rest is counted, and a `gap` says how many
 */
const MAX_ENTRIES = 10_000;
/** @limit the same in bytes | the same */
const MAX_BYTES = 4 * 1024 * 1024;
const BATCH_ENTRIES = 500;

/** An entry and its size on disk without its position in the chain. */
type Waiting = { readonly content: Content; readonly bytes: number };

export class WriteQueue {
	readonly #waiting: Waiting[] = [];
	#bytes = 0;
	#lost = 0;

	get isEmpty(): boolean {
		return this.#waiting.length === 0;
	}

	/** Number of lost entries. */
	get lost(): number {
		return this.#lost;
	}

	add(content: Content): void {
		const bytes = Buffer.byteLength(JSON.stringify(content));
		if (this.#waiting.length < MAX_ENTRIES && this.#bytes + bytes <= MAX_BYTES) {
			this.#waiting.push({ content, bytes });
			this.#bytes += bytes;
		} else this.#lose(content.time);
	}

	/** Takes the oldest entries. The writer gives back those that it could not write. */
	take(): readonly Waiting[] {
		const batch = this.#waiting.splice(0, BATCH_ENTRIES);
		this.#bytes -= sum(batch);
		return batch;
	}

	giveBack(batch: readonly Waiting[]): void {
		this.#waiting.unshift(...batch);
		this.#bytes += sum(batch);
	}

	/** Counts a lost entry at its position. The counts are few and do not count against the limits. */
	#lose(time: number): void {
		this.#lost++;
		const last = this.#waiting.at(-1)?.content;
		const known = last?.action === "gap" ? this.#waiting.pop()?.content : undefined;
		const content = { time: known?.time ?? time, action: "gap", lost: Number(known?.lost ?? 0) + 1 };
		this.#waiting.push({ content, bytes: 0 });
	}
}

function sum(batch: readonly Waiting[]): number {
	return batch.reduce((total, { bytes }) => total + bytes, 0);
}
