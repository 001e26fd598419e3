/**
 * The events of the feed as one bounded sequence, which outlives the server where there is a history to keep it: an
 * event is written first and told then, so that nobody has ever seen a cursor that the next server does not know.
 *
 * A cursor is an epoch and a number. Each server begins an epoch with its first event, and so does one whose disk has
 * failed, with which it goes on in memory: a number that was told and not kept never stands for another event, and
 * whoever comes back with it hears that something was missed. The same is so after a power cut.
 *
 * Changes of how sessions look are neither kept nor numbered: only the latest of each session is there, under the
 * cursor of the event before it.
 */

import { randomBytes } from "node:crypto";
import { Change } from "../../core/change.ts";
import type { FeedEvent } from "../../protocol/feed.ts";
import { limits } from "../../protocol/messages.ts";
import { type Entry, type Epoch, isLine, type Mark, type Told } from "./feed-lines.ts";
import { pause } from "./pause.ts";

/** Before a disk that failed is tried again; doubled each time, up to the last. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

/** Where lines of JSON are kept. */
type History = {
	/** What was there before, oldest first. */
	readonly kept: readonly unknown[];
	/** Resolves when the lines outlive us; `head` makes one that stands for all that was before it. */
	append(lines: readonly unknown[], head: () => unknown): Promise<void>;
	close(): Promise<void>;
};

type FeedLogOptions = {
	/** Nothing is kept, when left out. */
	readonly history?: History;
	/** Makes the name of an epoch, of small letters and digits, that was never used; as usual, when left out. */
	readonly newEpoch?: () => string;
	/** Hears once when events can't be kept any more, and once when they can. */
	readonly report: (problem: unknown) => void;
	/** How many events are remembered. */
	readonly size?: number;
};

/** Without an event something was missed up to the cursor. */
export type FeedItem = { readonly cursor: string; readonly event: FeedEvent | undefined; readonly isPrivate?: boolean };

/** On its way there. What a private one says of the output is not kept. */
type Pending = (Entry & { readonly isPrivate: boolean }) | Mark;

/** `order` counts everything; of a change, `number` is that of the event before it. */
type Item = {
	readonly order: number;
	readonly number: number;
	readonly event: FeedEvent;
	readonly isPrivate: boolean;
};

export class FeedLog {
	readonly #options: FeedLogOptions;
	readonly #change = new Change();
	/** By their order: the newest events, and the latest change of each session. */
	readonly #items: Item[] = [];
	readonly #changes = new Map<string, Item>();
	#order = 0;
	/** Oldest first; the last is that of the events to come. */
	readonly #epochs: Epoch[] = [];
	/** The numbers of the newest event that was added, of the newest that was told, and of the newest that was forgotten. */
	#added = 0;
	#last = 0;
	#forgotten = 0;
	/** What the history says of sessions, and up to which event: the head of a file says no more than the lines before it. */
	readonly #kept = new Map<string, Told>();
	#keptLast = 0;
	/** There, by their ids: what somebody was asked, and of which nothing was told since. */
	readonly #asked = new Map<string, FeedEvent>();
	/** What is to be written, oldest first. */
	#pending: Pending[] = [];
	#isEpochKept = false;
	#isWriting = false;
	#written: Promise<void> = Promise.resolve();
	/** The disk takes nothing: what is added is told at once. */
	#isFailing = false;
	#retryMs = FIRST_RETRY_MS;
	readonly #closing = new AbortController();
	/** What was told of sessions before this server; undefined if there is no record of that. */
	readonly before: ReadonlyMap<string, Told> | undefined;
	/** What servers before this one have asked somebody, and did not come to tell the end of. */
	readonly askedBefore: readonly FeedEvent[];

	/** With a cursor for now that the next server knows, if the disk takes it. */
	static async open(options: FeedLogOptions): Promise<FeedLog> {
		const log = new FeedLog(options);
		if (!log.before) log.note([]);
		await log.#written;
		return log;
	}

	constructor(options: FeedLogOptions) {
		this.#options = options;
		const kept = options.history?.kept ?? [];
		const recalled = kept.filter((line) => isLine(line) && this.#recall(line)).length;
		if (recalled < kept.length) {
			options.report(new Error(`${kept.length - recalled} lines among the kept events are none of ours, and left out`));
		}
		this.before = recalled === 0 ? undefined : new Map(this.#kept);
		this.askedBefore = [...this.#asked.values()];
		this.#last = this.#keptLast = this.#added;
		this.#beginEpoch();
	}

	/** The place after everything that was told. */
	get end(): string {
		return this.#cursor(this.#last);
	}

	/** What is private may be told, but what it says of a session's output may not be kept. */
	add(event: FeedEvent, told: Told | null, { isPrivate = false }: { readonly isPrivate?: boolean } = {}): void {
		const number = ++this.#added;
		if (this.#options.history) this.#keep({ number, event, told, isPrivate });
		else this.#tell(number, event, isPrivate);
	}

	/** What is no news: as if it had been told. */
	note(told: readonly Told[]): void {
		if (this.#options.history) this.#keep({ last: this.#added, epochs: [], told });
	}

	/** In the place of the one before it, of which it says again how the session looks if it has nothing newer. */
	addChange(event: FeedEvent): void {
		const { id } = event.session;
		const overview = event.overview ?? this.#changes.get(id)?.event.overview;
		this.forgetChange(id);
		this.#changes.set(id, this.#push(this.#last, { ...event, ...(overview ? { overview } : {}) }));
	}

	forgetChange(id: string): void {
		const change = this.#changes.get(id);
		if (!change) return;
		this.#changes.delete(id);
		this.#items.splice(
			this.#indexOf(({ order }) => order >= change.order),
			1,
		);
	}

	/** What comes after a cursor, until the signal aborts. */
	async *follow(
		since: string,
		{ signal, withOverviews }: { readonly signal: AbortSignal; readonly withOverviews: boolean },
	): AsyncGenerator<FeedItem, void, void> {
		let number = this.#numberOf(since);
		// A change has the number of the event before it, which is not told again.
		const isSeen = (item: Item) => item.number < number || (item.number === number && item.event.type !== "changed");
		let order = this.#items[this.#indexOf((item) => !isSeen(item))]?.order ?? this.#order;
		while (!signal.aborted) {
			if (number < this.#forgotten) {
				number = this.#forgotten;
				yield { cursor: this.#cursor(number), event: undefined };
				continue;
			}
			const item = this.#items[this.#indexOf((candidate) => candidate.order >= order)];
			if (!item) {
				await this.#change.next(signal);
				continue;
			}
			order = item.order + 1;
			// A change may be older than what was missed.
			number = Math.max(number, item.number);
			if (withOverviews || item.event.type !== "changed") {
				const { event, isPrivate } = item;
				yield { cursor: this.#cursor(number), event, isPrivate };
			}
		}
	}

	/** Nothing more is added; what was is kept, if the disk takes it. */
	async close(): Promise<void> {
		this.#closing.abort();
		await this.#written;
		if (this.#isFailing) await this.#write();
		await this.#options.history?.close().catch(this.#options.report);
	}

	/** Of the first item for which it is true, as it is for all after that; the length, if there is none. */
	#indexOf(isFound: (item: Item) => boolean): number {
		let low = 0;
		let high = this.#items.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			const item = this.#items[middle];
			if (item && isFound(item)) high = middle;
			else low = middle + 1;
		}
		return low;
	}

	/** Less than any event's, and forgotten, for a cursor that is not ours. */
	#numberOf(cursor: string): number {
		const [, name, digits] = /^([0-9a-z]+)-(\d{1,15})$/.exec(cursor) ?? [];
		const index = this.#epochs.findIndex((epoch) => epoch.name === name);
		const last = this.#epochs[index + 1]?.after ?? this.#last;
		return index >= 0 && Number(digits) <= last ? Number(digits) : -1;
	}

	#cursor(number: number): string {
		const epoch = this.#epochs.findLast(({ after }) => after < number) ?? this.#epochs[0];
		return `${epoch?.name}-${number}`;
	}

	#tell(number: number, event: FeedEvent, isPrivate = false): void {
		this.#last = number;
		this.#push(number, event, isPrivate);
		this.#forgetOldest();
	}

	#push(number: number, event: FeedEvent, isPrivate = false): Item {
		const item = { order: this.#order++, number, event, isPrivate };
		this.#items.push(item);
		this.#change.happen();
		return item;
	}

	#forgetOldest(): void {
		const { size = limits.feedEvents } = this.#options;
		while (this.#items.length - this.#changes.size > size) {
			const oldest = this.#items.findIndex(({ event }) => event.type !== "changed");
			const [gone] = this.#items.splice(oldest, 1);
			this.#forgotten = gone?.number ?? this.#forgotten;
		}
		while ((this.#epochs[1]?.after ?? Number.POSITIVE_INFINITY) < this.#forgotten) this.#epochs.shift();
	}

	#beginEpoch(): void {
		const { newEpoch = () => randomBytes(4).toString("hex") } = this.#options;
		this.#epochs.push({ name: newEpoch(), after: this.#last });
		this.#isEpochKept = false;
	}

	/** A line that was kept; false for one that leads back, which none of ours does. */
	#recall(line: Mark | Entry): boolean {
		if ("number" in line ? line.number <= this.#added : line.last < this.#added) return false;
		if ("number" in line) {
			this.#skipTo(line.number - 1);
			this.#added = line.number;
			this.#tell(line.number, line.event);
		} else {
			this.#skipTo(line.last);
			const isNew = ({ name }: Epoch) => !this.#epochs.some((known) => known.name === name);
			this.#epochs.push(...line.epochs.filter(isNew));
		}
		this.#learn(line);
		return true;
	}

	/** What is missing before the next line was dropped, or lost: whoever stands before it must hear that. */
	#skipTo(number: number): void {
		if (number === this.#added) return;
		this.#items.length = 0;
		this.#added = this.#forgotten = number;
	}

	/** What a line of the history says of sessions. */
	#learn(line: Mark | Entry): void {
		if (!("number" in line)) {
			for (const told of line.told) this.#kept.set(told.session.id, told);
			for (const event of line.asked ?? []) this.#learnAsked(event);
			return;
		}
		this.#learnAsked(line.event);
		if (line.event.type === "removed") this.#kept.delete(line.event.session.id);
		else if (line.told) this.#kept.set(line.event.session.id, line.told);
	}

	#learnAsked(event: FeedEvent): void {
		const { approval, secret } = event;
		const id = approval?.id ?? secret?.id;
		if (id === undefined) return;
		if (approval?.state === "asked" || secret?.status === "asked") this.#asked.set(id, event);
		else this.#asked.delete(id);
	}

	#keep(pending: Pending): void {
		if (this.#closing.signal.aborted) return;
		this.#pending.push(pending);
		if (this.#isFailing) this.#goOnInMemory();
		else if (!this.#isWriting) this.#written = this.#write();
	}

	/** Until nothing is left to write, or the disk does not take it. */
	async #write(): Promise<void> {
		const { history } = this.#options;
		this.#isWriting = true;
		while (history && this.#pending.length > 0) {
			const batch = this.#pending;
			this.#pending = [];
			try {
				await history.append(this.#linesOf(batch), () => this.#head());
			} catch (error) {
				this.#pending = [...batch, ...this.#pending];
				this.#fail(error);
				break;
			}
			this.#succeed(batch);
		}
		this.#isWriting = false;
	}

	#linesOf(batch: readonly Pending[]): readonly (Mark | Entry)[] {
		const begin = this.#isEpochKept ? [] : [this.#mark(this.#epochs.slice(-1), [])];
		return [...begin, ...batch.map((pending) => ("number" in pending ? entryOf(pending) : pending))];
	}

	#head(): Mark {
		const told = [...this.#kept.values()].map((one) => (one.ended ? withoutLabels(one) : one));
		return { ...this.#mark(this.#epochs, told), asked: [...this.#asked.values()] };
	}

	#mark(epochs: readonly Epoch[], told: readonly Told[]): Mark {
		return { last: this.#keptLast, epochs, told };
	}

	#succeed(batch: readonly Pending[]): void {
		this.#isEpochKept = true;
		for (const pending of batch) {
			this.#learn("number" in pending ? entryOf(pending) : pending);
			if ("number" in pending) this.#keptLast = pending.number;
		}
		this.#tellOf(batch);
		if (this.#isFailing) this.#options.report(new Error("events are kept again"));
		this.#isFailing = false;
		this.#retryMs = FIRST_RETRY_MS;
	}

	#fail(error: unknown): void {
		const message =
			"events can't be kept: the feed goes on, but who follows it will miss some when the server restarts";
		if (!this.#isFailing) this.#options.report(new Error(message, { cause: error }));
		this.#isFailing = true;
		// What is told now must not be taken for what the next server tells under the same numbers.
		if (this.#isEpochKept) this.#beginEpoch();
		this.#goOnInMemory();
		const { signal } = this.#closing;
		void pause(this.#retryMs, signal).then(() => {
			if (!signal.aborted) this.#written = this.#write();
		});
		this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
	}

	/** What waits for the disk is told, and no more of it waits than is remembered. */
	#goOnInMemory(): void {
		this.#tellOf(this.#pending);
		const { size = limits.feedEvents } = this.#options;
		this.#pending.splice(0, this.#pending.length - size);
	}

	#tellOf(batch: readonly Pending[]): void {
		for (const pending of batch) {
			if (!("number" in pending) || pending.number <= this.#last) continue;
			this.#tell(pending.number, pending.event, pending.isPrivate);
		}
	}
}

/** Labels may be long, and of one that has ended there is nothing more to tell but that it is removed. */
function withoutLabels(told: Told): Told {
	const { labels: _, ...session } = told.session;
	return { ...told, session };
}

function entryOf({ number, event, told, isPrivate }: Entry & { readonly isPrivate: boolean }): Entry {
	return { number, event: asKept(event, isPrivate), told };
}

/** What of an event may be written down: what somebody was to approve may be input that nobody was to keep. */
export function asKept(event: FeedEvent, isPrivate: boolean): FeedEvent {
	const shown = event.approval ? { ...event, approval: { ...event.approval, preview: "" } } : event;
	if (!isPrivate) return shown;
	const { prompt: _, command, ...rest } = shown;
	return { ...rest, ...(command ? { command: { ...command, command: null } } : {}) };
}
