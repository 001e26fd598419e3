/**
 * Sends the notices of one webhook, one at a time, in order within a session, with retries. A notice is on disk before
 * its first attempt, so that after a crash it is sent, or repeated with the same id and a higher attempt number.
 */

import { Change } from "../../core/async/change.ts";
import type { Clock } from "../../core/async/clock.ts";
import type { Lookup } from "./resolved-address.ts";
import { post } from "./signed-request.ts";
import type { KeptDelivery, StoredWebhook } from "./webhook-record.ts";
import type { Delivery, DeliveryOutcome, Notice, Notices, WebhookFigures, WebhookStatus } from "./webhooks.ts";

export type DeliveryTimes = {
	/** Delays before the second and later attempts, ±20 %. After the last one, a notice has failed. */
	readonly backoffMs: readonly number[];
	/** Time for one attempt. */
	readonly timeoutMs: number;
};

/** An hour and a quarter in total: long enough to redeploy a receiver or to wake up an operator. */
export const usualTimes: DeliveryTimes = {
	backoffMs: [5_000, 30_000, 2 * 60_000, 10 * 60_000, 60 * 60_000],
	/**
	 * @limit an attempt to send a notice | it failed; it is repeated after 5 s, 30 s, 2 min, 10 min and 1 h, each ± 20 %,
	 * then given up
	 */
	timeoutMs: 10_000,
};

/** Spreads retries to receivers that failed at the same time. */
const JITTER = 0.2;
/**
 * Pending notices. Further events stay in the feed until there is room.
 * @limit pending notices of one webhook; one is in flight | further events stay in the feed; those it drops are
 * `missed`
 */
const MAX_WAITING = 100;
/**
 * Failed notices that are kept; the oldest are dropped.
 * @limit failed notices of one webhook | the oldest are dropped, and counted
 */
const MAX_FAILED = 100;
/**
 * Events without a notice that pass before the cursor is saved. Saving after each would be wasteful.
 * @limit skipped events before a webhook's cursor is written | after a crash they are checked again
 */
const PASSED_UNWRITTEN = 100;
/** Retry delay after the disk or the feed has failed. */
const TROUBLE_MS = 5_000;

/** Totals of all webhooks since the server started. */
export type Counts = { -readonly [Name in Exclude<keyof WebhookFigures, "waiting">]: WebhookFigures[Name] };

type CourierOptions = {
	readonly clock: Clock;
	readonly times: DeliveryTimes;
	/** Saves the record to disk; one call at a time, in order. */
	readonly save: (kept: StoredWebhook) => Promise<void>;
	readonly newId: () => string;
	readonly lookup: Lookup;
	readonly allowsLinkLocal: boolean;
	readonly counts: Counts;
	/** From 0 to 1. */
	readonly random: () => number;
	readonly report: (problem: unknown) => void;
};

export class WebhookSender {
	readonly #options: CourierOptions;
	readonly #kept: StoredWebhook;
	/** When each notice is due, by the monotonic clock; one without an entry is due at once. */
	readonly #dueAt = new Map<string, number>();
	readonly #change = new Change();
	readonly #over = new AbortController();
	#running: Promise<unknown> = Promise.resolve();
	#problem: string | null = null;
	#isTesting = false;

	constructor(kept: StoredWebhook, options: CourierOptions) {
		this.#options = options;
		this.#kept = kept;
		// The outcome of earlier attempts is unknown, so their delays start again.
		for (const one of kept.waiting) if (one.tries > 0) this.#postpone(one);
	}

	get status(): WebhookStatus {
		const { webhook, waiting, failed, dropped, stoppedAt, wasPrivate } = this.#kept;
		return {
			...webhook,
			stoppedAt,
			wasPrivate,
			waiting: waiting.length,
			failed: failed.length,
			dropped,
			problem: this.#problem,
		};
	}

	get failed(): readonly Delivery[] {
		return this.#kept.failed;
	}

	start(notices: Notices): void {
		this.#running = Promise.all([this.#persist(() => this.#takeIn(notices)), this.#persist(() => this.#sendNext())]);
	}

	/** Cancels an attempt in progress. It counts as sent, since it may have arrived. */
	async stop(): Promise<void> {
		this.#over.abort();
		await this.#running;
	}

	/** Stops, and saves the current state. */
	async close(): Promise<void> {
		await this.stop();
		await this.#save();
	}

	/**
	 * Sends one notice once, before all pending ones. Resolves to undefined while another test runs. If outcomes for private
	 * addresses are hidden, neither the answer nor its timing depends on what is at the address.
	 */
	test({ body }: Notice, hidesPrivate: boolean): Promise<DeliveryOutcome | "private" | undefined> {
		if (this.#isTesting) return Promise.resolve(undefined);
		this.#isTesting = true;
		const { clock, times, newId } = this.#options;
		const end = () => {
			this.#isTesting = false;
		};
		return new Promise((resolve) => {
			let isHidden = false;
			const onTarget = (isPrivate: boolean) => {
				if (!isPrivate || !hidesPrivate) return;
				isHidden = true;
				const cancel = clock.after(times.timeoutMs, end);
				this.#over.signal.addEventListener("abort", cancel, { once: true });
				resolve("private");
			};
			void this.#post({ id: newId(), attempts: 1, body }, onTarget).then((outcome) => {
				if (!isHidden) end();
				resolve(outcome);
			});
		});
	}

	/** Undefined if there is no notice with this id. */
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

	/** Repeats a step until the sender stops. An error is reported once and retried after a delay. */
	async #persist(step: () => Promise<void>): Promise<void> {
		let isReported = false;
		while (!this.#over.signal.aborted) {
			try {
				await step();
				isReported = false;
			} catch (error) {
				if (this.#over.signal.aborted) return;
				if (!isReported) this.#options.report(error);
				isReported = true;
				await this.#pause(TROUBLE_MS);
			}
		}
	}

	async #takeIn(notices: Notices): Promise<void> {
		const { signal } = this.#over;
		let passed = 0;
		for await (const { cursor, notice } of notices.follow(this.#kept.webhook, this.#kept.cursor, signal)) {
			// The cursor stays before a notice until there is room for it.
			while (notice && this.#kept.waiting.length >= MAX_WAITING && !signal.aborted) await this.#change.wait(signal);
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
		// An attempt that was canceled by stop() may have arrived. It is repeated later.
		if (!outcome.isTaken && this.#over.signal.aborted) return;
		this.#settle(sent, outcome);
		await this.#save();
		this.#change.happen();
	}

	#settle(sent: KeptDelivery, { isTaken, reason }: DeliveryOutcome): void {
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

	/** Replaces a notice by another state of it, or removes it. */
	#replace({ id }: KeptDelivery, ...by: KeptDelivery[]): void {
		this.#kept.waiting = this.#kept.waiting.flatMap((one) => (one.id === id ? by : [one]));
		this.#dueAt.delete(id);
	}

	#postpone({ id, tries }: KeptDelivery): void {
		const { clock, times, random } = this.#options;
		const pause = times.backoffMs[Math.min(tries, times.backoffMs.length) - 1] ?? 0;
		this.#dueAt.set(id, clock.monotonic() + pause * (1 - JITTER + 2 * JITTER * random()));
	}

	/** The first pending notice of each session; later ones must wait for it. */
	#firsts(): KeptDelivery[] {
		const firsts = new Map<string | null, KeptDelivery>();
		for (const one of this.#kept.waiting) if (!firsts.has(one.session)) firsts.set(one.session, one);
		return [...firsts.values()];
	}

	#waitOf({ id }: KeptDelivery): number {
		return Math.max(0, (this.#dueAt.get(id) ?? 0) - this.#options.clock.monotonic());
	}

	/** Waits until a notice is due or something changes. */
	#untilDue(): Promise<void> {
		return this.#pause(Math.min(...this.#firsts().map((one) => this.#waitOf(one))));
	}

	/** Ends early on a change. */
	async #pause(ms: number): Promise<void> {
		const cancel = Number.isFinite(ms) ? this.#options.clock.after(ms, () => this.#change.happen()) : () => {};
		await this.#change.wait(this.#over.signal);
		cancel();
	}

	#post(
		{ id, attempts, body }: Pick<Delivery, "id" | "attempts" | "body">,
		onTarget: (isPrivate: boolean) => void = () => {},
	): Promise<DeliveryOutcome> {
		const { clock, times, lookup, allowsLinkLocal } = this.#options;
		const timestamp = Math.floor(clock.now() / 1000);
		return post(
			{ id, timestamp, attempt: attempts, body },
			{
				url: this.#kept.webhook.url,
				secret: this.#kept.secret,
				lookup,
				allowsLinkLocal,
				onTarget: (isPrivate) => {
					// Never reset: earlier failures in the list still refer to a private address.
					this.#kept.wasPrivate ||= isPrivate;
					onTarget(isPrivate);
				},
				timeoutMs: times.timeoutMs,
				signal: this.#over.signal,
			},
		);
	}

	#save(): Promise<void> {
		return this.#options.save(this.#kept);
	}
}
