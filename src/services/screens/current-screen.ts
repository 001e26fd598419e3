/**
 * Maintains the screen of one session from its log while it is in use.
 *
 * It reads the log without blocking the program. Without requests it takes only a little of a flood and then releases
 * the log; a request waits until the model has caught up.
 */

import { Change } from "../../core/async/change.ts";
import type { Clock } from "../../core/async/clock.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import type { LogPosition } from "../../core/log/event.ts";
import type { Session } from "../../core/session/session.ts";
import type { Screen } from "../../core/terminal/screen-view.ts";
import { type EmulatorThread, EmulatorThreadEnded } from "../../emulator/emulator-thread.ts";
import { SCROLLBACK_ROWS } from "../../emulator/requests.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { ModelFeed } from "./model-feed.ts";
import { type FeederStart, startOfNow } from "./starting-point.ts";

/**
 * Output taken per interval without requests, in bytes and milliseconds.
 * @limit output a second for a model without requests | it reads the rest later
 */
const IDLE_BYTES = 1024 * 1024;
const IDLE_MS = 1_000;
/** If a flood has left the model this many bytes behind, it restarts at a later position. */
const FAR_BYTES = 2 * 1024 * 1024;
/** A checkpoint is taken after this much output, in bytes, or after this long without output. */
export const CHECKPOINT_BYTES: number = 1024 * 1024;
const QUIET_MS = 2_000;
/**
 * Number of times a session's output may end the thread before the session has no screen.
 * @limit how often a session's output may end the thread of all models | the session has no screen any more
 */
const MAX_DEATHS = 3;
/**
 * Recent screens that are kept for requests with `since`.
 * @limit read screens that are remembered for `since` | the answer has all rows
 */
const KEPT_SCREENS = 8;

type FollowerOptions = {
	readonly thread: EmulatorThread;
	readonly checkpoints: Checkpoints;
	readonly clock: Clock;
};

export class CurrentScreen {
	readonly #session: Session;
	readonly #options: FollowerOptions;
	readonly #closed = new AbortController();
	readonly #change = new Change();
	readonly #feeder: ModelFeed;
	#round = new AbortController();
	/** Time of the last request by the monotonic clock, and the number of active requests. */
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
		this.#feeder = new ModelFeed(options.thread, { session, onProgress: () => this.#progressed() });
		this.#run().catch((error: unknown) => {
			this.#failure = error;
			this.#cancelQuiet?.();
			// The model is not in use, and the thread has no room for it.
			this.#feeder.close();
			this.#change.happen();
		});
	}

	/** Time since the last request, in milliseconds. */
	get unusedMs(): number {
		return this.#asking > 0 ? 0 : this.#options.clock.monotonic() - this.#usedAt;
	}

	/** Number of cells that the thread holds for it. */
	get cells(): number {
		const { cols, rows } = this.#feeder.size;
		return cols * (2 * rows + SCROLLBACK_ROWS);
	}

	get hasFailed(): boolean {
		return this.#failure !== undefined;
	}

	/** Whether its output has ended the thread too often to be rendered again. */
	get isUnshowable(): boolean {
		return this.#deaths >= MAX_DEATHS;
	}

	/**
	 * Requests something from the model once it has all output that is in the log now. If the thread ends, the request is
	 * repeated once with a new thread.
	 */
	async ask<Value>(act: (feeder: ModelFeed) => Promise<Value>, signal: AbortSignal): Promise<Value> {
		this.#asking++;
		this.#change.happen();
		try {
			for (let tries = 1; ; tries++) {
				const end = await this.#session.end();
				if (this.#isOpen && end.offset - this.#feeder.position.offset > FAR_BYTES) this.#restart();
				await this.#reached(end, signal);
				try {
					return await act(this.#feeder);
				} catch (error) {
					if (!(error instanceof EmulatorThreadEnded)) throw error;
					if (tries > 1) throw canceledError();
					this.#restart();
				}
			}
		} finally {
			this.#asking--;
			this.#usedAt = this.#options.clock.monotonic();
		}
	}

	/** Resolves when the model has processed more output, or after `ms`. */
	async progress(ms: number, signal: AbortSignal): Promise<void> {
		await withDeadline(ms, [signal], (over) => this.#change.wait(over));
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

	/** Starts another round, which may begin closer to the end of the log. */
	#restart(): void {
		this.#isOpen = false;
		this.#round.abort();
	}

	async #reached({ seq }: LogPosition, signal: AbortSignal): Promise<void> {
		const over = AbortSignal.any([signal, this.#closed.signal]);
		while (!this.#isOpen || this.#feeder.position.seq < seq) {
			if (this.#failure) throw this.#failure;
			if (over.aborted) throw canceledError();
			await this.#change.wait(over);
		}
	}

	/** Each round creates a model. When the thread ends, the next round starts from a checkpoint. */
	async #run(): Promise<void> {
		/** Start position after output that has ended the thread. */
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
				if (!(error instanceof EmulatorThreadEnded)) throw error;
				this.#isOpen = false;
				if (!error.isCulprit) continue;
				if (++this.#deaths >= MAX_DEATHS) throw unrenderableError();
				after = { ...this.#feeder.taken, ...this.#feeder.size };
			}
		}
	}

	async #keepUp(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			const isOver = await this.#follow(signal);
			// The model has taken enough of a flood without requests, or the log has ended and the screen stays as it is.
			if (isOver) await aborted(signal);
			else if (this.#asking === 0) await this.progress(IDLE_MS, signal);
		}
	}

	/** Resolves to whether the log has ended for good. */
	async #follow(signal: AbortSignal): Promise<boolean> {
		const began = this.#options.clock.monotonic();
		const { position } = this.#feeder;
		const { offset: from } = position;
		for await (const item of this.#session.follow(position, { signal, isOwn: true })) {
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
			// If the thread has ended, the round fails by itself.
			this.#takeCheckpoint().catch(() => {});
		});
	}

	async #takeCheckpoint(): Promise<void> {
		// Without new output there is nothing to store: many resizes may follow each other.
		if (this.#feeder.taken.offset === this.#checkpointAt) return;
		await this.#feeder.drain();
		const { offset } = this.#feeder.position;
		if (offset === this.#checkpointAt || !this.#isOpen) return;
		this.#checkpointAt = offset;
		const checkpoint = await this.#feeder.checkpoint(SCROLLBACK_ROWS);
		// If this fails, later readers have to read more output.
		this.#options.checkpoints.add(checkpoint).catch(() => {});
	}
}

function aborted(signal: AbortSignal): Promise<void> {
	return new Change().wait(signal);
}

function canceledError(): SessionError {
	return new SessionError(
		"node_unavailable",
		"the screen was not read: the request was canceled, or the renderer has ended",
	);
}

/** The error for a session whose output ends the thread. */
export function unrenderableError(): SessionError {
	return new SessionError("limit_exceeded", "rendering this program's output takes too long or too much memory", {
		hint: "read the output instead",
	});
}
