/**
 * Stores feed events in a bounded sequence. With a history, an event is written to disk before followers see it, so the
 * next server knows every cursor that was handed out.
 *
 * A cursor is an epoch and a number. A server starts a new epoch with its first event, and again when its disk fails and
 * it continues in memory. So a number that was reported but not stored never stands for another event: a follower that
 * returns with it, also after a power failure, is notified that it missed events.
 *
 * `changed` events are neither stored nor numbered: only the latest of each session is kept, under the cursor of the
 * event before it.
 */

import { randomBytes } from "node:crypto";
import { limits } from "../../api/messages.ts";
import type { AgentMessage, FeedEvent } from "../../api/types.ts";
import { diskRetryDelay } from "../../async/retry-delay.ts";
import { sleep } from "../../async/sleep.ts";
import { Change } from "../../core/async/change.ts";
import { type Epoch, type HistoryEvent, type HistoryHead, isLine, type ReportedState } from "./history-lines.ts";

/** Storage for JSON lines. */
type History = {
	/** Lines of earlier servers, oldest first. */
	readonly kept: readonly unknown[];
	/** Resolves when the lines are durable. `head` creates one line that summarizes all lines before. */
	append(lines: readonly unknown[], head: () => unknown): Promise<void>;
	close(): Promise<void>;
};

type FeedLogOptions = {
	/** Events are kept in memory only without it. */
	readonly history?: History;
	/** Returns a new unique epoch name of lowercase letters and digits; random by default. */
	readonly newEpoch?: () => string;
	/** Called once when events can't be stored any more, and once when they can again. */
	readonly report: (problem: unknown) => void;
	/** Events kept in memory. */
	readonly size?: number;
};

/** An item without an event means that events up to the cursor were missed. */
export type FeedItem = { readonly cursor: string; readonly event: FeedEvent | undefined; readonly isPrivate?: boolean };

/** Not stored yet. Output quoted in a private event is left out on disk. */
type Pending = (HistoryEvent & { readonly isPrivate: boolean }) | HistoryHead;

/** `order` numbers all items. A `changed` event has the `number` of the event before it. */
type Item = {
	readonly order: number;
	readonly number: number;
	readonly event: FeedEvent;
	readonly isPrivate: boolean;
};

export class FeedLog {
	readonly #options: FeedLogOptions;
	readonly #change = new Change();
	/** The newest events and the latest change of each session, by order. */
	readonly #items: Item[] = [];
	readonly #changes = new Map<string, Item>();
	#order = 0;
	/** Oldest first; the last one is current. */
	readonly #epochs: Epoch[] = [];
	/** Numbers of the newest event that was added, that was published, and that was dropped. */
	#added = 0;
	#last = 0;
	#forgotten = 0;
	/** Session states on disk, and the last event they include. A file's head must not be ahead of the lines before it. */
	readonly #kept = new Map<string, ReportedState>();
	#keptLast = 0;
	/** Open approval and secret requests on disk, by id. */
	readonly #asked = new Map<string, FeedEvent>();
	/** Lines to write, oldest first. */
	#pending: Pending[] = [];
	#isEpochKept = false;
	#isWriting = false;
	#written: Promise<void> = Promise.resolve();
	/** While the disk fails, events are published without waiting for it. */
	#isFailing = false;
	readonly #retryDelay = diskRetryDelay();
	readonly #closing = new AbortController();
	/** Session states that earlier servers reported; undefined without a history. */
	readonly before: ReadonlyMap<string, ReportedState> | undefined;
	/** Approval and secret requests of earlier servers whose end was not reported. */
	readonly askedBefore: readonly FeedEvent[];

	/** Waits until the current epoch is on disk, unless the disk fails. */
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
			options.report(new Error(`skipped ${kept.length - recalled} invalid lines of the feed history`));
		}
		this.before = recalled === 0 ? undefined : new Map(this.#kept);
		this.askedBefore = [...this.#asked.values()];
		this.#last = this.#keptLast = this.#added;
		this.#beginEpoch();
	}

	/** The cursor after the newest published event. */
	get end(): string {
		return this.#cursor(this.#last);
	}

	/** Output quoted in a private event is published but not stored. */
	add(
		event: FeedEvent,
		told: ReportedState | null,
		{ isPrivate = false }: { readonly isPrivate?: boolean } = {},
	): void {
		const number = ++this.#added;
		if (this.#options.history) this.#keep({ number, event, told, isPrivate });
		else this.#publish(number, event, isPrivate);
	}

	/** Stores session states without publishing an event. */
	note(told: readonly ReportedState[]): void {
		if (this.#options.history) this.#keep({ last: this.#added, epochs: [], told });
	}

	/** Replaces the session's previous change, and repeats its overview if this one has none. */
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

	/** Items after a cursor, until the signal aborts. */
	async *follow(
		since: string,
		{ signal, withOverviews }: { readonly signal: AbortSignal; readonly withOverviews: boolean },
	): AsyncGenerator<FeedItem, void, void> {
		let number = this.#numberOf(since);
		// A change has the number of the event before it, which the follower has seen.
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
				await this.#change.wait(signal);
				continue;
			}
			order = item.order + 1;
			// A change may be older than the missed events.
			number = Math.max(number, item.number);
			if (withOverviews || item.event.type !== "changed") {
				const { event, isPrivate } = item;
				yield { cursor: this.#cursor(number), event, isPrivate };
			}
		}
	}

	/** Stops accepting events and writes the pending ones if the disk allows. */
	async close(): Promise<void> {
		this.#closing.abort();
		await this.#written;
		if (this.#isFailing) await this.#write();
		await this.#options.history?.close().catch(this.#options.report);
	}

	/** Binary search: index of the first match, or the length. All items after a match must match. */
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

	/** -1 for an unknown cursor, which counts as older than every event. */
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

	#publish(number: number, event: FeedEvent, isPrivate = false): void {
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

	/** Restores a stored line; false if its number goes backward, which none of our files contains. */
	#recall(line: HistoryHead | HistoryEvent): boolean {
		if ("number" in line ? line.number <= this.#added : line.last < this.#added) return false;
		if ("number" in line) {
			this.#skipTo(line.number - 1);
			this.#added = line.number;
			this.#publish(line.number, line.event);
		} else {
			this.#skipTo(line.last);
			const isNew = ({ name }: Epoch) => !this.#epochs.some((known) => known.name === name);
			this.#epochs.push(...line.epochs.filter(isNew));
		}
		this.#learn(line);
		return true;
	}

	/** Events before this number are lost, so followers with an older cursor must be notified. */
	#skipTo(number: number): void {
		if (number === this.#added) return;
		this.#items.length = 0;
		this.#added = this.#forgotten = number;
	}

	/** Updates the stored session states from a line. */
	#learn(line: HistoryHead | HistoryEvent): void {
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
		if (this.#isFailing) this.#continueInMemory();
		else if (!this.#isWriting) this.#written = this.#write();
	}

	/** Writes until nothing is pending or the disk fails. */
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

	#linesOf(batch: readonly Pending[]): readonly (HistoryHead | HistoryEvent)[] {
		const begin = this.#isEpochKept ? [] : [this.#headWith(this.#epochs.slice(-1), [])];
		return [...begin, ...batch.map((pending) => ("number" in pending ? entryOf(pending) : pending))];
	}

	#head(): HistoryHead {
		const told = [...this.#kept.values()].map((one) => (one.ended ? withoutLabels(one) : one));
		return { ...this.#headWith(this.#epochs, told), asked: [...this.#asked.values()] };
	}

	#headWith(epochs: readonly Epoch[], told: readonly ReportedState[]): HistoryHead {
		return { last: this.#keptLast, epochs, told };
	}

	#succeed(batch: readonly Pending[]): void {
		this.#isEpochKept = true;
		for (const pending of batch) {
			this.#learn("number" in pending ? entryOf(pending) : pending);
			if ("number" in pending) this.#keptLast = pending.number;
		}
		this.#publishAll(batch);
		if (this.#isFailing) this.#options.report(new Error("feed events are stored on disk again"));
		this.#isFailing = false;
		this.#retryDelay.reset();
	}

	#fail(error: unknown): void {
		const message =
			"can't store feed events on disk: the feed continues, but its followers miss some events when the server restarts";
		if (!this.#isFailing) this.#options.report(new Error(message, { cause: error }));
		this.#isFailing = true;
		// Numbers published from now on may be used again by the next server, so they need an epoch of their own.
		if (this.#isEpochKept) this.#beginEpoch();
		this.#continueInMemory();
		const { signal } = this.#closing;
		void sleep(this.#retryDelay.next(), signal).then(() => {
			if (!signal.aborted) this.#written = this.#write();
		});
	}

	/** Publishes the pending events without the disk. At most as many as fit in memory stay pending. */
	#continueInMemory(): void {
		this.#publishAll(this.#pending);
		const { size = limits.feedEvents } = this.#options;
		this.#pending.splice(0, this.#pending.length - size);
	}

	#publishAll(batch: readonly Pending[]): void {
		for (const pending of batch) {
			if (!("number" in pending) || pending.number <= this.#last) continue;
			this.#publish(pending.number, pending.event, pending.isPrivate);
		}
	}
}

/** An ended session's labels may be long, and only its removal is left to report. */
function withoutLabels(told: ReportedState): ReportedState {
	const { labels: _, ...session } = told.session;
	return { ...told, session };
}

function entryOf({ number, event, told, isPrivate }: HistoryEvent & { readonly isPrivate: boolean }): HistoryEvent {
	return { number, event: withoutPrivateText(event, isPrivate), told };
}

function withoutText(agent: AgentMessage): AgentMessage {
	const children = agent.children.map((child) => ({ ...child, title: null, details: null }));
	return { ...agent, question: null, details: null, choices: [], title: null, children };
}

/** The part of an event that may be stored. An approval's preview may show input that must not be on disk. */
export function withoutPrivateText(event: FeedEvent, isPrivate: boolean): FeedEvent {
	const shown = event.approval ? { ...event, approval: { ...event.approval, preview: "" } } : event;
	if (!isPrivate) return shown;
	const { prompt: _, agent, command, ...rest } = shown;
	const hidden = agent === undefined ? {} : { agent: agent && withoutText(agent) };
	return { ...rest, ...hidden, ...(command ? { command: { ...command, command: null } } : {}) };
}
