/**
 * The newest events of a kept session in the server: one stream from its keeper, shared by all live readers.
 *
 * The program is paused briefly when it runs ahead of the stream. After too long a pause the keeper skips ahead over a
 * gap. A cursor that needs skipped or older events reads them from the keeper by its own stream.
 */

import { Change } from "../../core/async/change.ts";
import { valueWithin } from "../../core/async/deadline.ts";
import type { ArchiveReader } from "../../core/log/archive.ts";
import { type FollowOptions, follow, type Hold, LIVE_WINDOW_BYTES, type ReadableLog } from "../../core/log/cursor.ts";
import {
	byteLength,
	type Event,
	type Item,
	isFinal,
	type LogPosition,
	type Place,
	type Start,
} from "../../core/log/event.ts";
import { EventRing } from "../../core/log/event-ring.ts";
import type { KeeperLink } from "./keeper-link.ts";

/**
 * A viewer that is further behind skips ahead, so more would be of no use.
 * @limit newest events of a viewed session in the server | the oldest are dropped; readers that need them read from
 * the keeper
 */
const MEMORY_BYTES = LIVE_WINDOW_BYTES;
const MEMORY_EVENTS = 50_000;
/** Time for the readers to consume this much before more is taken. It limits how much they slow down a flood. */
const READ_MS = 15;
/** Many small events count as one, or slow readers would hold up a program that writes little at a time. */
const READ_BYTES = 64 * 1024;

class SharedTail implements ReadableLog {
	readonly #link: KeeperLink;
	readonly #ring: EventRing;
	readonly #change = new Change();
	readonly #read = new Change();
	#readers = 0;
	#waiting = 0;
	readonly #left = new AbortController();
	/** The oldest event that the keeper may still have. */
	#oldest: LogPosition = { seq: 1, offset: 0 };
	#isFinished = false;
	#failure: unknown;

	/** Begins at the current end. Rejects when the link breaks. */
	static async open(link: KeeperLink): Promise<SharedTail> {
		const end = await link.ask<"end">({ do: "end" });
		return new SharedTail(link, end);
	}

	private constructor(link: KeeperLink, end: LogPosition) {
		this.#link = link;
		this.#ring = new EventRing(end);
		void this.#run(end);
	}

	get end(): LogPosition {
		return this.#ring.end;
	}

	get isFinished(): boolean {
		return this.#isFinished;
	}

	get oldest(): LogPosition {
		return this.#oldest.seq < this.memoryOldest.seq ? this.#oldest : this.memoryOldest;
	}

	get memoryOldest(): LogPosition {
		return this.#ring.oldest;
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		return this.#ring.peek(seq, maxBytes);
	}

	seqAt(offset: number): number {
		return this.#ring.seqAt(offset);
	}

	/** Rejects once the link is closed. */
	async changed(signal?: AbortSignal): Promise<void> {
		if (this.#failure) throw this.#failure;
		this.#waiting++;
		if (this.#isMostlyRead) this.#read.happen();
		await this.#change.wait(signal);
		this.#waiting--;
		if (this.#failure) throw this.#failure;
	}

	/** Adds a reader, until the returned function is called. */
	join(): () => void {
		this.#readers++;
		return () => {
			this.#readers--;
			this.#read.happen();
		};
	}

	/** Resolves when the tail has reached an end that the keeper reported. */
	async reached(end: LogPosition, signal?: AbortSignal): Promise<void> {
		while (this.end.seq < end.seq && !this.#isFinished && !signal?.aborted) await this.changed(signal);
	}

	reader(signal: AbortSignal): ArchiveReader {
		return new KeeperReader(this.#link, this, signal, (oldest) => {
			if (oldest.seq > this.#oldest.seq) this.#oldest = oldest;
		});
	}

	hold(): Hold {
		throw new Error("invariant: a shared tail can't be held");
	}

	/** Ends the stream when no reader is left. */
	close(): void {
		this.#left.abort();
	}

	async #run(end: LogPosition): Promise<void> {
		try {
			const options = { flow: "live", isPaced: true, signal: this.#left.signal } as const;
			let unread = 0;
			for await (const item of this.#link.follow(end, options)) {
				this.#take(item);
				unread += item.kind === "gap" ? 0 : byteLength(item);
				if (unread < READ_BYTES) continue;
				unread = 0;
				if (this.#readers > 1) await this.#letRead();
			}
			// Also if it began after the last event, so that none was sent.
			this.#isFinished = true;
		} catch (error) {
			this.#failure = error;
		}
		this.#change.happen();
	}

	/** Half of the readers have consumed everything. */
	get #isMostlyRead(): boolean {
		return this.#waiting * 2 >= this.#readers;
	}

	/** Gives the readers a moment, so that most miss nothing. A few slow ones delay nothing. */
	async #letRead(): Promise<void> {
		// They are woken in this turn and read in the next.
		await new Promise((resolve) => setImmediate(resolve));
		if (this.#isMostlyRead) return;
		const late = new AbortController();
		const timer = setTimeout(() => late.abort(), READ_MS);
		await this.#read.wait(late.signal);
		clearTimeout(timer);
	}

	#take(item: Item): void {
		if (item.kind === "gap") this.#ring.reset({ seq: item.nextSeq, offset: item.to });
		else {
			this.#ring.push(item);
			this.#isFinished = isFinal(item);
			while (this.#ring.exceeds(MEMORY_BYTES, MEMORY_EVENTS)) this.#ring.dropOldest();
		}
		this.#change.happen();
	}
}

/** One cursor's reader for events that the tail no longer has: a stream from the keeper until it has caught up. */
class KeeperReader implements ArchiveReader {
	readonly #link: KeeperLink;
	readonly #mirror: SharedTail;
	readonly #signal: AbortSignal;
	readonly #onOldest: (oldest: LogPosition) => void;
	#items: AsyncGenerator<Item, void, void> | undefined;
	/** Number of the next event of the stream. */
	#next = -1;

	constructor(link: KeeperLink, mirror: SharedTail, signal: AbortSignal, onOldest: (oldest: LogPosition) => void) {
		this.#link = link;
		this.#mirror = mirror;
		this.#signal = signal;
		this.#onOldest = onOldest;
	}

	async read(from: Place): Promise<readonly Event[]> {
		if (!("seq" in from && from.seq === this.#next && this.#items)) await this.#restart(from);
		for (;;) {
			const { done, value } = (await this.#items?.next()) ?? { done: true, value: undefined };
			if (done || value === undefined) return [];
			if (value.kind === "gap") {
				// The next event's number shows the gap; this is its reason.
				if (value.reason === "retention") this.#onOldest({ seq: value.nextSeq, offset: value.to });
				continue;
			}
			this.#next = value.seq + 1;
			if (this.#next >= this.#mirror.memoryOldest.seq) await this.close();
			return [value];
		}
	}

	async close(): Promise<void> {
		const items = this.#items;
		this.#items = undefined;
		await items?.return();
	}

	async #restart(from: Place): Promise<void> {
		await this.close();
		this.#items = this.#link.follow(from, { signal: this.#signal });
	}
}

export class SharedMirror {
	#open: { readonly link: KeeperLink; readonly mirror: Promise<SharedTail>; readers: number } | undefined;

	/** Follows over this link. Readers on an older link keep its tail until they are done. */
	async *follow(link: KeeperLink, start: Start, options: FollowOptions): AsyncGenerator<Item, void, void> {
		if (this.#open?.link !== link) this.#open = { link, mirror: SharedTail.open(link), readers: 0 };
		const shared = this.#open;
		shared.readers++;
		let leave = () => {};
		try {
			const { signal } = options;
			const mirror = await valueWithin(shared.mirror, { signal });
			if (!mirror) return;
			// The tail may not have reached this reader's start yet.
			if (shared.readers > 1) {
				const end = await valueWithin(link.ask<"end">({ do: "end" }), { signal });
				if (!end) return;
				await mirror.reached(end, signal);
			}
			// Only attached readers slow down a flood, not internal ones.
			if (!options.isOwn) leave = mirror.join();
			yield* follow(mirror, start, options);
		} finally {
			leave();
			if (--shared.readers === 0) {
				if (this.#open === shared) this.#open = undefined;
				shared.mirror.then(
					(mirror) => mirror.close(),
					() => {},
				);
			}
		}
	}
}
