/** Entries that wait for the disk. What no longer fits is counted, and the count stands in its place. */

import type { Content } from "./audit-files.ts";

/** Entries that wait, and what they take: both are a minute of a busy server. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
const BATCH_ENTRIES = 500;

/** An entry and what it will take on disk, but for its place in the chain. */
export type Waiting = { readonly content: Content; readonly bytes: number };

export class Queue {
	readonly #waiting: Waiting[] = [];
	#bytes = 0;
	#lost = 0;

	get isEmpty(): boolean {
		return this.#waiting.length === 0;
	}

	/** How many did not fit so far. */
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

	/** The oldest, for whoever writes them and gives back those that were not written. */
	take(): readonly Waiting[] {
		const batch = this.#waiting.splice(0, BATCH_ENTRIES);
		this.#bytes -= sum(batch);
		return batch;
	}

	giveBack(batch: readonly Waiting[]): void {
		this.#waiting.unshift(...batch);
		this.#bytes += sum(batch);
	}

	/** Counts it where it would have stood; the counts are few, and so without weight. */
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
