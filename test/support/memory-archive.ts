/** An archive in memory that acts only on demand: a test makes it take, drop, fail and heal. */

import type { Archive, ArchiveReader, ArchiveSource } from "../../src/core/log/archive.ts";
import { byteLength, type Event, type LogPosition } from "../../src/core/log/event.ts";

export class MemoryArchive implements Archive {
	isHealthy = true;
	isFull = false;
	wakes = 0;
	readonly #limitBytes: number;
	#source: ArchiveSource | undefined;
	#events: Event[] = [];
	#end: LogPosition = { seq: 1, offset: 0 };

	constructor(limitBytes: number) {
		this.#limitBytes = limitBytes;
	}

	get oldest(): LogPosition {
		return this.#events[0] ?? this.#end;
	}

	get end(): LogPosition {
		return this.#end;
	}

	start(source: ArchiveSource): void {
		this.#source = source;
	}

	wake(): void {
		this.wakes++;
		this.#retain();
	}

	/** Takes about this much of the log's content, like a finished write. */
	take(maxBytes: number): void {
		if (!this.isHealthy) return;
		for (const event of this.#source?.peek(this.#end.seq, maxBytes) ?? []) {
			this.#events.push(event);
			this.#end = { seq: event.seq + 1, offset: event.offset + byteLength(event) };
		}
		this.#retain();
		this.#source?.archiveChanged();
	}

	setHealthy(isHealthy: boolean): void {
		this.isHealthy = isHealthy;
		this.#source?.archiveChanged();
	}

	reader(): ArchiveReader {
		return {
			read: async (from, maxBytes) => {
				const isAt = (event: Event) =>
					"seq" in from
						? event.seq >= from.seq
						: event.kind === "output"
							? event.offset + byteLength(event) > from.offset
							: event.offset >= from.offset;
				const first = this.#events.findIndex(isAt);
				if (first < 0) return [];
				let last = first;
				for (let bytes = 0; last < this.#events.length && (last === first || bytes < maxBytes); last++) {
					bytes += byteLength(this.#events[last] as Event);
				}
				return this.#events.slice(first, last);
			},
			close: async () => {},
		};
	}

	async close(): Promise<void> {}

	#retain(): void {
		const held = this.#source?.heldFrom() ?? Number.POSITIVE_INFINITY;
		const bytes = () => this.#end.offset - this.oldest.offset;
		while (bytes() > this.#limitBytes && this.#events.length > 1 && (this.#events[1] as Event).seq <= held) {
			this.#events.shift();
		}
		this.isFull = bytes() > this.#limitBytes && this.#events.length > 1;
	}
}
