/**
 * Ends programs that were idle for as long as each of them allows.
 *
 * It runs where the program is, so that the timeout holds while no server runs: in a keeper for its one session, in a
 * server for all sessions of its process. One timer serves all of them, set for the earliest possible end. Activity
 * only updates a time. So a byte costs nothing, and a process whose sessions may idle for an hour wakes once an hour.
 */

import type { Clock } from "../async/clock.ts";

/** Minimum time between two checks, so that ends that are close together cost one. */
const LEAST_PAUSE_MS = 100;

type Idler = {
	readonly idleTimeoutMs: number;
	/** Monotonic time of the last input or output byte. */
	lastActivity(): number;
	/** Whether it works without input or output. Called only when its time is over; if true, the time starts again. */
	isBusy(): boolean;
	/** Called once. */
	expire(): void;
};

export class IdleWatch {
	readonly #clock: Clock;
	/** Each with the time at which it was last busy. */
	readonly #watched = new Map<Idler, number>();
	#cancel: () => void = () => {};
	/** Time of the next check. */
	#lookAt = Number.POSITIVE_INFINITY;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Watches until it has expired or the returned function is called. */
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
