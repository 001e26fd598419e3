/**
 * The model of one session's screen, kept up with its log while somebody uses it.
 *
 * It follows as a reader of our own, who holds nothing and is waited for by nobody. While nobody asks, it takes no more
 * than a little of a flood, and lets go of the log meanwhile; whoever asks waits until it has caught up.
 */

import { Change } from "../core/change.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Mark } from "../core/event.ts";
import type { Screen } from "../core/screen.ts";
import type { Session } from "../core/session.ts";
import { within } from "../core/within.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { Feeder } from "./feeder.ts";
import { SCROLLBACK_ROWS } from "./model.ts";
import { type FeederStart, startOfNow } from "./start.ts";
import { type ScreenThread, ThreadLost } from "./thread.ts";

/** What it takes while nobody asks, in bytes for each of these milliseconds: what people look at is less. */
const IDLE_BYTES = 1024 * 1024;
const IDLE_MS = 1_000;
/** So far behind, in bytes, a flood has left it that it is better to look for another place to begin. */
const FAR_BYTES = 2 * 1024 * 1024;
/** A checkpoint is taken after this much output, in bytes, or after this long without any. */
export const CHECKPOINT_BYTES: number = 1024 * 1024;
const QUIET_MS = 2_000;
/** How often output may end the thread before its session has no screen any more. */
const MAX_DEATHS = 3;
/** How many screens that were read are remembered, for those who ask what has changed. */
const KEPT_SCREENS = 8;

type FollowerOptions = {
	readonly thread: ScreenThread;
	readonly checkpoints: Checkpoints;
	readonly clock: Clock;
};

export class Follower {
	readonly #session: Session;
	readonly #options: FollowerOptions;
	readonly #closed = new AbortController();
	readonly #change = new Change();
	readonly #feeder: Feeder;
	#round = new AbortController();
	/** When somebody last asked, by the monotonic clock, and how many do now. */
	#usedAt: number;
	#asking = 0;
	#isOpen = false;
	#failure: unknown;
	#deaths = 0;
	#checkpointAt = 0;
	#cancelQuiet: (() => void) | undefined;
	#screens: Screen[] = [];

	constructor(session: Session, options: FollowerOptions) {
		this.#session = session;
		this.#options = options;
		this.#usedAt = options.clock.monotonic();
		this.#feeder = new Feeder(options.thread, { session, onProgress: () => this.#progressed() });
		this.#run().catch((error: unknown) => {
			this.#failure = error;
			this.#change.happen();
		});
	}

	/** How long nobody has asked, in milliseconds. */
	get unusedMs(): number {
		return this.#asking > 0 ? 0 : this.#options.clock.monotonic() - this.#usedAt;
	}

	/** How many cells the thread has for it. */
	get cells(): number {
		const { cols, rows } = this.#feeder.size;
		return cols * (2 * rows + SCROLLBACK_ROWS);
	}

	get hasFailed(): boolean {
		return this.#failure !== undefined;
	}

	/** Its output has ended the thread too often, and is not to do so again. */
	get isUnshowable(): boolean {
		return this.#deaths >= MAX_DEATHS;
	}

	/**
	 * Asks the model once it has everything that the log has now. If the thread ends meanwhile, it is asked once more when
	 * there is a new one.
	 */
	async ask<Value>(act: (feeder: Feeder) => Promise<Value>, signal: AbortSignal): Promise<Value> {
		this.#asking++;
		this.#change.happen();
		try {
			for (let tries = 1; ; tries++) {
				const end = await this.#session.end();
				if (this.#isOpen && end.offset - this.#feeder.position.offset > FAR_BYTES) this.#beginAnew();
				await this.#reached(end, signal);
				try {
					return await act(this.#feeder);
				} catch (error) {
					if (!(error instanceof ThreadLost)) throw error;
					if (tries > 1) throw brokenOff();
					this.#beginAnew();
				}
			}
		} finally {
			this.#asking--;
			this.#usedAt = this.#options.clock.monotonic();
		}
	}

	/** Resolves when the model has come further, or after so many milliseconds. */
	async progress(ms: number, signal: AbortSignal): Promise<void> {
		await within(ms, [signal], (over) => this.#change.next(over));
	}

	remember(screen: Screen): void {
		if (this.#screens.at(-1)?.seq !== screen.seq) this.#screens = [...this.#screens, screen].slice(-KEPT_SCREENS);
	}

	remembered(seq: number): Screen | undefined {
		return this.#screens.find((screen) => screen.seq === seq);
	}

	close(): void {
		this.#closed.abort();
		this.#cancelQuiet?.();
		this.#feeder.close();
	}

	/** Another round, which may begin nearer to the end than we are. */
	#beginAnew(): void {
		this.#isOpen = false;
		this.#round.abort();
	}

	async #reached({ seq }: Mark, signal: AbortSignal): Promise<void> {
		const over = AbortSignal.any([signal, this.#closed.signal]);
		while (!this.#isOpen || this.#feeder.position.seq < seq) {
			if (this.#failure) throw this.#failure;
			if (over.aborted) throw brokenOff();
			await this.#change.next(over);
		}
	}

	/** Each round is a model: when the thread ends, the next one begins again where a checkpoint is. */
	async #run(): Promise<void> {
		/** Where to begin instead: after output that has ended the thread. */
		let after: FeederStart | undefined;
		while (!this.#closed.signal.aborted) {
			this.#round = new AbortController();
			try {
				await this.#feeder.open(after ?? (await startOfNow(this.#session, this.#options, this.#closed.signal)));
				this.#isOpen = true;
				this.#checkpointAt = this.#feeder.position.offset;
				this.#change.happen();
				await this.#keepUp(AbortSignal.any([this.#closed.signal, this.#round.signal]));
			} catch (error) {
				if (!(error instanceof ThreadLost)) throw error;
				this.#isOpen = false;
				if (!error.isCulprit) continue;
				if (++this.#deaths >= MAX_DEATHS) throw unshowable();
				after = { ...this.#feeder.taken, ...this.#feeder.size };
			}
		}
	}

	async #keepUp(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			const isOver = await this.#follow(signal);
			// It has taken enough of a flood that nobody looks at; or there is nothing more, and what it shows stays.
			if (isOver) await aborted(signal);
			else if (this.#asking === 0) await this.progress(IDLE_MS, signal);
		}
	}

	/** Whether the log is at its end for good; if not, it may go on later. */
	async #follow(signal: AbortSignal): Promise<boolean> {
		const began = this.#options.clock.monotonic();
		const { offset: from, seq } = this.#feeder.position;
		for await (const item of this.#session.follow({ seq }, { signal, isOwn: true })) {
			if (item.kind === "resized") await this.#takeCheckpoint();
			await this.#feeder.take(item);
			if (this.#feeder.position.offset - this.#checkpointAt >= CHECKPOINT_BYTES) await this.#takeCheckpoint();
			const ms = this.#options.clock.monotonic() - began;
			const isFlood = this.#feeder.position.offset - from > IDLE_BYTES * (1 + ms / IDLE_MS);
			if (!isFlood || this.#asking > 0) continue;
			await this.#feeder.drain();
			return false;
		}
		await this.#feeder.drain();
		return !signal.aborted;
	}

	#progressed(): void {
		this.#change.happen();
		this.#cancelQuiet?.();
		this.#cancelQuiet = this.#options.clock.after(QUIET_MS, () => {
			// The round hears of it by itself, if the thread has ended.
			this.#takeCheckpoint().catch(() => {});
		});
	}

	async #takeCheckpoint(): Promise<void> {
		// Nothing is waited for then: many resizes may come in a row.
		if (this.#feeder.taken.offset === this.#checkpointAt) return;
		await this.#feeder.drain();
		const { offset } = this.#feeder.position;
		if (offset === this.#checkpointAt || !this.#isOpen) return;
		this.#checkpointAt = offset;
		const checkpoint = await this.#feeder.checkpoint(SCROLLBACK_ROWS);
		// Without one, there is more to be read later.
		this.#options.checkpoints.add(checkpoint).catch(() => {});
	}
}

function aborted(signal: AbortSignal): Promise<void> {
	return new Change().next(signal);
}

function brokenOff(): SessionError {
	return new SessionError(
		"node_unavailable",
		"the screen was not read: nobody waits for it, or what draws it has ended",
	);
}

/** What is said of a session whose output ends the thread. */
export function unshowable(): SessionError {
	return new SessionError(
		"limit_exceeded",
		"what this program writes takes too long, or too much memory, to be shown",
		{
			hint: "read its output instead",
		},
	);
}
