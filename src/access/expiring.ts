/** Credentials that somebody else has signed and that are good until a time: who showed them, and the end of all that they opened. */

import { getEventListeners } from "node:events";
import type { Clock } from "../core/clock.ts";

/** How many are known at a time. For one more, one goes of whoever has most: shown again, it is known again. */
const MAX_KNOWN = 10_000;
/** How often what is over is looked for at the latest: the clock may have been set. */
const SWEEP_MS = 60_000;
const MIN_SWEEP_MS = 1;

export type Expires = {
	/** Whose it is. */
	readonly owner: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
	/** Aborted then. */
	readonly revocation: AbortController;
};

export class Expiring<Holder extends Expires> {
	readonly #clock: Clock;
	/** The one first that was not shown for longest. */
	readonly #holders = new Map<string, Holder>();
	#cancelSweep: () => void = () => {};

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	get all(): Holder[] {
		return [...this.#holders.values()];
	}

	/** By the digest of what is signed: whoever shows the same again is the same. */
	get(key: string): Holder | undefined {
		const holder = this.#holders.get(key);
		// Behind all others, since it was shown just now.
		if (holder && this.#holders.delete(key)) this.#holders.set(key, holder);
		return holder;
	}

	add(key: string, holder: Holder): Holder {
		this.#sweep();
		if (this.#holders.size >= MAX_KNOWN) this.#makeRoom();
		this.#holders.set(key, holder);
		this.#sweepLater();
		return holder;
	}

	close(): void {
		this.#cancelSweep();
	}

	/** One goes that nothing hangs on, if there is such a one; what hangs on it ends otherwise. */
	#makeRoom(): void {
		const counts = new Map<string, number>();
		for (const { owner } of this.all) counts.set(owner, (counts.get(owner) ?? 0) + 1);
		const most = Math.max(...counts.values());
		const crowd = [...this.#holders].filter(([, { owner }]) => counts.get(owner) === most);
		const idle = crowd.find(([, { revocation }]) => getEventListeners(revocation.signal, "abort").length === 0);
		const [key, holder] = idle ?? crowd[0] ?? [];
		if (key !== undefined && holder) this.#end(key, holder);
	}

	/** At the next end, so that what it has open ends with it. */
	#sweepLater(): void {
		this.#cancelSweep();
		if (this.#holders.size === 0) return;
		const ends = this.all.map(({ expiresAt }) => expiresAt);
		const next = ends.reduce((earliest, end) => Math.min(earliest, end), Number.POSITIVE_INFINITY) - this.#clock.now();
		this.#cancelSweep = this.#clock.after(Math.max(MIN_SWEEP_MS, Math.min(SWEEP_MS, next)), () => {
			this.#sweep();
			this.#sweepLater();
		});
	}

	#sweep(): void {
		const now = this.#clock.now();
		for (const [key, holder] of this.#holders) if (holder.expiresAt <= now) this.#end(key, holder);
	}

	#end(key: string, { revocation }: Holder): void {
		this.#holders.delete(key);
		revocation.abort();
	}
}
