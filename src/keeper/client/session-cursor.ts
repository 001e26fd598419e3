/**
 * One reader of a session in a keeper: reads from the keeper, over as many links as needed, and finally from the
 * journal. It continues at its exact position.
 */

import { valueWithin } from "../../core/async/deadline.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import { byteLength, type Item, isEmptyGap, isFinal, type LogPosition, type Start } from "../../core/log/event.ts";
import type { ArchivedSession } from "./archived-session.ts";
import { ANSWER_MS, type KeeperLink, KeeperSilent, type LinkFollowOptions, LinkLost } from "./keeper-link.ts";
import type { SharedMirror } from "./shared-tail.ts";

/** The place of a session's log. */
export type Home = KeeperLink | ArchivedSession;
type ReadableHome = KeeperLink | { follow(start: Start, options: FollowOptions): AsyncIterable<Item> };

/** Shared by all readers of a session. */
export type Readers = {
	/** The keeper or the archive, once known; undefined if the signal aborts first. */
	readonly located: (wait: { readonly signal?: AbortSignal | undefined }) => Promise<ReadableHome | undefined>;
	readonly tail: SharedMirror;
	/** Resolves after a delay that grows with the number of tries. */
	readonly pause: (tries: number) => Promise<void>;
	/** Tests crash the server here. */
	readonly onDelivered: (() => void) | undefined;
	/** The end of the log as any reader has seen it. The journal may lack the newest events. */
	seen: LogPosition | undefined;
	/** Number of attached readers. */
	attached: number;
};

export class SessionCursor {
	readonly #readers: Readers;
	readonly #options: LinkFollowOptions;
	#place: Promise<Start>;
	/** The stream that was started in the constructor, until it is used. */
	#begun: AsyncGenerator<Item, void, void> | undefined;
	/** Aborted when a bounded reader has waited too long for an item. */
	readonly #late: AbortController | undefined;
	#timer: NodeJS.Timeout | undefined;

	/** With a link it starts reading at once. */
	constructor(readers: Readers, start: Start | Promise<Start>, link: KeeperLink | undefined, options: FollowOptions) {
		this.#readers = readers;
		this.#place = Promise.resolve(start);
		this.#late = options.isBounded ? new AbortController() : undefined;
		const signals = [options.signal, this.#late?.signal].filter((signal) => signal !== undefined);
		const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
		this.#options = { ...options, ...(signal ? { signal } : {}), onPlace: (place) => this.#stand(place) };
		if (link && !(start instanceof Promise)) this.#begun = link.follow(start, this.#options);
	}

	async *items(): AsyncGenerator<Item, void, void> {
		const readers = this.#readers;
		const { isOwn, isBounded, signal } = this.#options;
		const counted = isOwn ? 0 : 1;
		readers.attached += counted;
		try {
			for (let tries = 1; ; tries++) {
				try {
					this.#startTimer();
					for await (const item of this.#takeBegun() ?? this.#fromPlace()) {
						clearTimeout(this.#timer);
						this.#passed(item);
						if (!isEmptyGap(item)) yield item;
						tries = 0;
						readers.onDelivered?.();
						this.#startTimer();
					}
					return this.#checkSilence();
				} catch (error) {
					clearTimeout(this.#timer);
					this.#checkSilence();
					if (!isPassing(error) || (isBounded && error instanceof KeeperSilent)) throw error;
					if (signal?.aborted) return;
					await readers.pause(tries);
				}
			}
		} finally {
			clearTimeout(this.#timer);
			readers.attached -= counted;
		}
	}

	#takeBegun(): AsyncGenerator<Item, void, void> | undefined {
		const begun = this.#begun;
		this.#begun = undefined;
		return begun;
	}

	/** Items from its position, once the keeper or archive is known; none if the signal aborts first. */
	async *#fromPlace(): AsyncGenerator<Item, void, void> {
		const { signal } = this.#options;
		const home = await this.#readers.located({ signal });
		const from = home && (await valueWithin(this.#place, { signal }));
		if (home && from !== undefined) yield* this.#itemsIn(home, from);
	}

	/** A lossless reader has its own cursor in the keeper. All others share one stream. */
	#itemsIn(home: ReadableHome, start: Start): AsyncIterable<Item> {
		const isShared = isLink(home) && this.#options.flow !== "lossless";
		return isShared ? this.#readers.tail.follow(home, start, this.#options) : home.follow(start, this.#options);
	}

	/** Starts the timeout for the next item. */
	#startTimer(): void {
		if (this.#late) this.#timer = setTimeout(() => this.#late?.abort(), ANSWER_MS);
	}

	/** Throws if the timeout has ended the iteration. */
	#checkSilence(): void {
		if (this.#late?.signal.aborted) throw new KeeperSilent(ANSWER_MS);
	}

	#passed(item: Item): void {
		// Keep the offset: only it shows bytes that the next source of the log has lost.
		if (item.kind === "gap") {
			this.#stand({ seq: item.nextSeq, offset: item.to });
			return;
		}
		const next = { seq: item.seq + 1, offset: item.offset + byteLength(item) };
		this.#stand(next);
		const { seen } = this.#readers;
		if (item.seq >= (seen?.seq ?? 0) && !isFinal(item)) this.#readers.seen = next;
	}

	#stand(place: LogPosition): void {
		this.#place = Promise.resolve(place);
	}
}

export function isLink(home: ReadableHome | undefined): home is KeeperLink {
	return home !== undefined && "call" in home;
}

/** Whether a retry may succeed: the link broke, or the keeper was silent. */
export function isPassing(error: unknown): boolean {
	return error instanceof LinkLost || error instanceof KeeperSilent;
}
