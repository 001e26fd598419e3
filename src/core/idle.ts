/**
 * Ends programs on which nothing has come or gone for as long as each of them allows.
 *
 * It is done where the program is, so that it holds while no server runs: in a keeper for the one session that is
 * there, in a server for all that live in its process. There is one timer for all of them, set for the first moment
 * at which one could be idle for long enough; what comes and goes until then only leaves its time behind. So nothing
 * is spent on a byte, and a process whose sessions may idle for an hour wakes once an hour for them.
 */

import type { Clock } from "./clock.ts";

/** Between two looks, so that ends which lie close together cost one. */
const LEAST_PAUSE_MS = 100;

type Idler = {
	readonly idleTimeoutMs: number;
	/** When the last byte came or went, by the monotonic clock. */
	lastActivity(): number;
	/** Whether it is at work without a byte; asked only when its time is over, and the time begins anew if so. */
	isBusy(): boolean;
	/** Called once. */
	expire(): void;
};

export class IdleWatch {
	readonly #clock: Clock;
	/** Each with when it was last found to be busy. */
	readonly #watched = new Map<Idler, number>();
	#cancel: () => void = () => {};
	/** When the next look is due; never, while nothing is watched. */
	#lookAt = Number.POSITIVE_INFINITY;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** From now on, until it has expired or the returned function is called. */
	watch(idler: Idler): () => void {
		const now = this.#clock.monotonic();
		this.#watched.set(idler, now);
		this.#lookBy(now + idler.idleTimeoutMs);
		return () => {
			this.#watched.delete(idler);
			if (this.#watched.size === 0) this.#stop();
		};
	}

	#look(): void {
		this.#stop();
		const now = this.#clock.monotonic();
		for (const [idler, busyAt] of this.#watched) {
			if (endOf(idler, busyAt) > now) continue;
			if (idler.isBusy()) {
				this.#watched.set(idler, now);
			} else {
				this.#watched.delete(idler);
				idler.expire();
			}
		}
		const ends = [...this.#watched].map(([idler, busyAt]) => endOf(idler, busyAt));
		if (ends.length > 0) this.#lookBy(Math.max(now + LEAST_PAUSE_MS, Math.min(...ends)));
	}

	#lookBy(time: number): void {
		if (time >= this.#lookAt) return;
		this.#cancel();
		this.#lookAt = time;
		this.#cancel = this.#clock.after(time - this.#clock.monotonic(), () => this.#look());
	}

	#stop(): void {
		this.#cancel();
		this.#lookAt = Number.POSITIVE_INFINITY;
	}
}

function endOf(idler: Idler, busyAt: number): number {
	return Math.max(idler.lastActivity(), busyAt) + idler.idleTimeoutMs;
}
