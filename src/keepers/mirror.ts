/**
 * The newest events of a kept session, in the server: one stream from its keeper, for all who only watch.
 *
 * The program waits for moments when it runs ahead of that stream; when it had to wait for too long, the keeper moves
 * the stream forward over a gap. What is missing here then, and all that is older, each cursor that wants it reads from
 * the keeper by a stream of its own.
 */

import type { ArchiveReader } from "../core/archive.ts";
import { Change } from "../core/change.ts";
import { type Followable, type Hold, LIVE_WINDOW_BYTES } from "../core/cursor.ts";
import { type Event, type Item, isFinal, type Mark } from "../core/event.ts";
import { EventRing } from "../core/ring.ts";
import type { KeeperLink } from "./keeper-link.ts";

/** A viewer that is further behind is moved forward, so more is of no use. */
const MEMORY_BYTES = LIVE_WINDOW_BYTES;
const MEMORY_EVENTS = 50_000;
/** How long the readers may take over a chunk before the next is taken: so slow they can make a flood, and no slower. */
const READ_MS = 15;

export class Mirror implements Followable {
	readonly #link: KeeperLink;
	readonly #ring: EventRing;
	readonly #change = new Change();
	readonly #read = new Change();
	#readers = 0;
	#waiting = 0;
	readonly #left = new AbortController();
	/** The oldest that the keeper may still have: nothing older, once it has said so. */
	#oldest: Mark = { seq: 1, offset: 0 };
	#isFinished = false;
	#failure: unknown;

	/** Begins at the end of now. Rejects when the link breaks. */
	static async open(link: KeeperLink): Promise<Mirror> {
		const end = await link.ask<"end">({ do: "end" });
		return new Mirror(link, end);
	}

	private constructor(link: KeeperLink, end: Mark) {
		this.#link = link;
		this.#ring = new EventRing(end);
		void this.#run(end);
	}

	get end(): Mark {
		return this.#ring.end;
	}

	get isFinished(): boolean {
		return this.#isFinished;
	}

	get oldest(): Mark {
		return this.#oldest.seq < this.memoryOldest.seq ? this.#oldest : this.memoryOldest;
	}

	get memoryOldest(): Mark {
		return this.#ring.oldest;
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		return this.#ring.peek(seq, maxBytes);
	}

	seqAt(offset: number): number {
		return this.#ring.seqAt(offset);
	}

	/** Rejects once the link is gone. */
	async changed(signal?: AbortSignal): Promise<void> {
		if (this.#failure) throw this.#failure;
		this.#waiting++;
		if (this.#isMostlyRead) this.#read.happen();
		await this.#change.next(signal);
		this.#waiting--;
		if (this.#failure) throw this.#failure;
	}

	/** One more reads it, until the returned function is called. */
	join(): () => void {
		this.#readers++;
		return () => {
			this.#readers--;
			this.#read.happen();
		};
	}

	/** Resolves when it has come as far as the keeper was at some time. */
	async reached(end: Mark, signal?: AbortSignal): Promise<void> {
		while (this.end.seq < end.seq && !this.#isFinished && !signal?.aborted) await this.changed(signal);
	}

	reader(signal: AbortSignal): ArchiveReader {
		return new KeeperReader(this.#link, this, signal, (oldest) => {
			if (oldest.seq > this.#oldest.seq) this.#oldest = oldest;
		});
	}

	hold(): Hold {
		throw new Error("invariant: a mirror keeps nothing for anybody");
	}

	/** Nobody watches any more. */
	close(): void {
		this.#left.abort();
	}

	async #run(end: Mark): Promise<void> {
		try {
			const options = { flow: "live", isPaced: true, signal: this.#left.signal } as const;
			for await (const item of this.#link.follow({ seq: end.seq }, options)) {
				this.#take(item);
				if (this.#readers > 1) await this.#letRead();
			}
			// Also where it began after the last event, which nobody sent then.
			this.#isFinished = true;
		} catch (error) {
			this.#failure = error;
		}
		this.#change.happen();
	}

	/** Half of the readers have everything, and wait for more. */
	get #isMostlyRead(): boolean {
		return this.#waiting * 2 >= this.#readers;
	}

	/** Gives those who read it a moment, so that most of them miss nothing; a few that are slow hold nobody up. */
	async #letRead(): Promise<void> {
		// They are told in this turn, and read in the next.
		await new Promise((resolve) => setImmediate(resolve));
		if (this.#isMostlyRead) return;
		const patience = new AbortController();
		const timer = setTimeout(() => patience.abort(), READ_MS);
		await this.#read.next(patience.signal);
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

/** One cursor's way to what the mirror does not have: a stream from the keeper until it has caught up. */
class KeeperReader implements ArchiveReader {
	readonly #link: KeeperLink;
	readonly #mirror: Mirror;
	readonly #signal: AbortSignal;
	readonly #onOldest: (oldest: Mark) => void;
	#items: AsyncGenerator<Item, void, void> | undefined;
	/** Which event the stream gives next. */
	#next = -1;

	constructor(link: KeeperLink, mirror: Mirror, signal: AbortSignal, onOldest: (oldest: Mark) => void) {
		this.#link = link;
		this.#mirror = mirror;
		this.#signal = signal;
		this.#onOldest = onOldest;
	}

	async read(from: { readonly seq: number } | { readonly offset: number }): Promise<readonly Event[]> {
		if (!("seq" in from && from.seq === this.#next && this.#items)) await this.#restart(from);
		for (;;) {
			const { done, value } = (await this.#items?.next()) ?? { done: true, value: undefined };
			if (done || value === undefined) return [];
			if (value.kind === "gap") {
				// What follows shows by its number that something is missing, and this why.
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

	async #restart(from: { readonly seq: number } | { readonly offset: number }): Promise<void> {
		await this.close();
		this.#items = this.#link.follow(from, { signal: this.#signal });
	}
}
