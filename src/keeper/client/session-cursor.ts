/** The position of one reader of a kept session, across links. */

import type { FollowOptions } from "../../core/log/cursor.ts";
import { byteLength, type Item, type LogPosition, type Start } from "../../core/log/event.ts";
import { ANSWER_MS, type KeeperLink, KeeperSilent, type LinkFollowOptions } from "./keeper-link.ts";

export class Reading {
	place: Promise<Start>;
	readonly options: LinkFollowOptions;
	#begun: AsyncGenerator<Item, void, void> | undefined;
	/** Aborted when a bounded reader has waited too long for an item. */
	readonly #late: AbortController | undefined;
	#timer: NodeJS.Timeout | undefined;

	/** With a link it starts reading at once. */
	constructor(start: Start | Promise<Start>, link: KeeperLink | undefined, options: FollowOptions) {
		this.place = Promise.resolve(start);
		this.#late = options.isBounded ? new AbortController() : undefined;
		const signals = [options.signal, this.#late?.signal].filter((signal) => signal !== undefined);
		const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
		this.options = { ...options, ...(signal ? { signal } : {}), onPlace: (place) => this.#stand(place) };
		if (link && !(start instanceof Promise)) this.#begun = link.follow(start, this.options);
	}

	/** Returns the stream that was started in the constructor, once. */
	takeBegun(): AsyncGenerator<Item, void, void> | undefined {
		const begun = this.#begun;
		this.#begun = undefined;
		return begun;
	}

	/** Starts the timeout for the next item. */
	wait(): void {
		if (this.#late) this.#timer = setTimeout(() => this.#late?.abort(), ANSWER_MS);
	}

	/** Stops the timeout. */
	rest(): void {
		clearTimeout(this.#timer);
	}

	/** Throws if the timeout has ended the iteration. */
	checkSilence(): void {
		if (this.#late?.signal.aborted) throw new KeeperSilent(ANSWER_MS);
	}

	passed(item: Item): void {
		// Keep the offset: only it shows bytes that the next source of the log has lost.
		if (item.kind === "gap") this.#stand({ seq: item.nextSeq, offset: item.to });
		else this.#stand({ seq: item.seq + 1, offset: item.offset + byteLength(item) });
	}

	#stand(place: LogPosition): void {
		this.place = Promise.resolve(place);
	}
}
