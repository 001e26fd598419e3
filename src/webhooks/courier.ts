/**
 * Tells one webhook its notices: takes them in as they come, sends one at a time, those of a session in their order,
 * and again what was not taken. Nothing is sent before it is on disk that it will have been, so that after any crash
 * each is sent once, or again with the same id and a higher count.
 */

import { Change } from "../core/change.ts";
import type { Clock } from "../core/clock.ts";
import type { Delivery, Notice, Notices, Outcome, WebhookFigures, WebhookStatus } from "../core/webhooks.ts";
import { post } from "./post.ts";
import type { Kept, KeptDelivery } from "./record.ts";

export type DeliveryTimes = {
	/** What is waited before each attempt but the first, a fifth more or less; then a notice is given up. */
	readonly backoffMs: readonly number[];
	/** How long one attempt may take. */
	readonly timeoutMs: number;
};

/** An hour and a quarter in all: long enough for a receiver to be deployed anew, or for somebody to be woken up. */
export const usualTimes: DeliveryTimes = {
	backoffMs: [5_000, 30_000, 2 * 60_000, 10 * 60_000, 60 * 60_000],
	timeoutMs: 10_000,
};

/** Receivers that failed together must not be tried together. */
const JITTER = 0.2;
/** On their way at a time; the next stay where they come from until there is room. */
const MAX_WAITING = 100;
/** Given up and kept; the oldest make room. */
const MAX_FAILED = 100;
/** So many that it is not told may pass before its place is written: with each it would be written for nothing. */
const PASSED_UNWRITTEN = 100;
/** Before something is tried again that the disk, or whoever notices come from, has refused. */
const TROUBLE_MS = 5_000;

/** What all webhooks of a server have done since it started. */
export type Counts = { -readonly [Name in Exclude<keyof WebhookFigures, "waiting">]: WebhookFigures[Name] };

type CourierOptions = {
	readonly clock: Clock;
	readonly times: DeliveryTimes;
	/** Puts it on disk; one at a time, in order. */
	readonly save: (kept: Kept) => Promise<void>;
	readonly newId: () => string;
	readonly counts: Counts;
	/** From 0 to 1. */
	readonly random: () => number;
	readonly report: (problem: unknown) => void;
};

export class Courier {
	readonly #options: CourierOptions;
	readonly #kept: Kept;
	/** When each is due again, by the monotonic clock; one that is not here is due at once. */
	readonly #dueAt = new Map<string, number>();
	readonly #change = new Change();
	readonly #over = new AbortController();
	#running: Promise<unknown> = Promise.resolve();
	#problem: string | null = null;
	#isTesting = false;

	constructor(kept: Kept, options: CourierOptions) {
		this.#options = options;
		this.#kept = kept;
		// What became of the last attempts nobody knows; the pauses after them begin anew.
		for (const one of kept.waiting) if (one.tries > 0) this.#postpone(one);
	}

	get status(): WebhookStatus {
		const { webhook, waiting, failed, dropped } = this.#kept;
		return { ...webhook, waiting: waiting.length, failed: failed.length, dropped, problem: this.#problem };
	}

	get failed(): readonly Delivery[] {
		return this.#kept.failed;
	}

	start(notices: Notices): void {
		this.#running = Promise.all([this.#persist(() => this.#takeIn(notices)), this.#persist(() => this.#sendNext())]);
	}

	/** Ends what is under way; it counts as sent, for it may have arrived. */
	async stop(): Promise<void> {
		this.#over.abort();
		await this.#running;
	}

	/** The same, and leaves on disk up to where it came. */
	async close(): Promise<void> {
		await this.stop();
		await this.#save();
	}

	/** One notice, once, whatever waits. Undefined while another is tried. */
	async test({ body }: Notice): Promise<Outcome | undefined> {
		if (this.#isTesting) return undefined;
		this.#isTesting = true;
		try {
			return await this.#post({ id: this.#options.newId(), attempts: 1, body });
		} finally {
			this.#isTesting = false;
		}
	}

	/** Undefined if there is none of this id. */
	async retry(id: string | undefined): Promise<{ readonly retried: number; readonly left: number } | undefined> {
		const { waiting, failed } = this.#kept;
		const wanted = failed.filter((one) => id === undefined || one.id === id);
		if (id !== undefined && wanted.length === 0) return undefined;
		const taken = wanted.slice(0, Math.max(0, MAX_WAITING - waiting.length));
		this.#kept.failed = failed.filter((one) => !taken.includes(one));
		this.#kept.waiting = [...waiting, ...taken.map((one) => ({ ...one, tries: 0 }))];
		if (id === undefined) this.#dueAt.clear();
		await this.#save();
		this.#change.happen();
		return { retried: taken.length, left: wanted.length - taken.length };
	}

	/** Until we are stopped, over whatever goes wrong: that is told once, and tried again a little later. */
	async #persist(step: () => Promise<void>): Promise<void> {
		let isTold = false;
		while (!this.#over.signal.aborted) {
			try {
				await step();
				isTold = false;
			} catch (error) {
				if (this.#over.signal.aborted) return;
				if (!isTold) this.#options.report(error);
				isTold = true;
				await this.#pause(TROUBLE_MS);
			}
		}
	}

	async #takeIn(notices: Notices): Promise<void> {
		const { signal } = this.#over;
		let passed = 0;
		for await (const { cursor, notice } of notices.follow(this.#kept.webhook, this.#kept.cursor, signal)) {
			// Meanwhile it is not taken: its place is the one before.
			while (notice && this.#kept.waiting.length >= MAX_WAITING && !signal.aborted) await this.#change.next(signal);
			if (signal.aborted) return;
			this.#kept.cursor = cursor;
			if (notice) {
				const id = this.#options.newId();
				this.#kept.waiting = [...this.#kept.waiting, { ...notice, id, attempts: 0, tries: 0, reason: null }];
				this.#change.happen();
			} else if (++passed < PASSED_UNWRITTEN) continue;
			passed = 0;
			await this.#save();
		}
	}

	async #sendNext(): Promise<void> {
		const next = this.#firsts().find((one) => this.#waitOf(one) === 0);
		if (!next) return this.#untilDue();
		const sent: KeptDelivery = { ...next, attempts: next.attempts + 1, tries: next.tries + 1 };
		this.#replace(next, sent);
		try {
			await this.#save();
		} catch (error) {
			this.#replace(sent, next);
			throw error;
		}
		const outcome = await this.#post(sent);
		// What we ended ourselves may have arrived: it is told again, as a repeat.
		if (!outcome.isTaken && this.#over.signal.aborted) return;
		this.#settle(sent, outcome);
		await this.#save();
		this.#change.happen();
	}

	#settle(sent: KeptDelivery, { isTaken, reason }: Outcome): void {
		const { counts, times } = this.#options;
		this.#problem = reason;
		const judged = { ...sent, reason };
		if (isTaken) {
			counts.delivered++;
			this.#replace(sent);
			return;
		}
		counts.refused++;
		if (sent.tries <= times.backoffMs.length) {
			this.#replace(sent, judged);
			this.#postpone(judged);
			return;
		}
		counts.givenUp++;
		this.#replace(sent);
		const failed = [...this.#kept.failed, judged];
		this.#kept.failed = failed.slice(-MAX_FAILED);
		this.#kept.dropped += failed.length - this.#kept.failed.length;
	}

	/** By another state of it, or by nothing. */
	#replace({ id }: KeptDelivery, ...by: KeptDelivery[]): void {
		this.#kept.waiting = this.#kept.waiting.flatMap((one) => (one.id === id ? by : [one]));
		this.#dueAt.delete(id);
	}

	#postpone({ id, tries }: KeptDelivery): void {
		const { clock, times, random } = this.#options;
		const pause = times.backoffMs[Math.min(tries, times.backoffMs.length) - 1] ?? 0;
		this.#dueAt.set(id, clock.monotonic() + pause * (1 - JITTER + 2 * JITTER * random()));
	}

	/** Of each session the one before which no other may be sent. */
	#firsts(): KeptDelivery[] {
		const firsts = new Map<string | null, KeptDelivery>();
		for (const one of this.#kept.waiting) if (!firsts.has(one.session)) firsts.set(one.session, one);
		return [...firsts.values()];
	}

	#waitOf({ id }: KeptDelivery): number {
		return Math.max(0, (this.#dueAt.get(id) ?? 0) - this.#options.clock.monotonic());
	}

	/** Or until there is something else to send. */
	#untilDue(): Promise<void> {
		return this.#pause(Math.min(...this.#firsts().map((one) => this.#waitOf(one))));
	}

	/** Ends early with a change. */
	async #pause(ms: number): Promise<void> {
		const cancel = Number.isFinite(ms) ? this.#options.clock.after(ms, () => this.#change.happen()) : () => {};
		await this.#change.next(this.#over.signal);
		cancel();
	}

	#post({ id, attempts, body }: Pick<Delivery, "id" | "attempts" | "body">): Promise<Outcome> {
		const { clock, times } = this.#options;
		const timestamp = Math.floor(clock.now() / 1000);
		return post(
			{ id, timestamp, attempt: attempts, body },
			{
				url: this.#kept.webhook.url,
				secret: this.#kept.secret,
				timeoutMs: times.timeoutMs,
				signal: this.#over.signal,
			},
		);
	}

	#save(): Promise<void> {
		return this.#options.save(this.#kept);
	}
}
