/** Credentials that another party has signed and that expire, with the connections that they opened. */

import { getEventListeners } from "node:events";
import type { Clock } from "../core/async/clock.ts";

/**
 * Number of credentials that are remembered. Above it, one of the owner with the most is forgotten until it is used again.
 * @limit JWTs in use | one of the `sub` with the most is forgotten, and is valid when it is shown again
 */
const MAX_KNOWN = 10_000;
/** Longest time between two checks for expired credentials, since the clock may be set. */
const SWEEP_MS = 60_000;
const MIN_SWEEP_MS = 1;

export type Expires = {
	/** The owner. */
	readonly owner: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
	/** Aborts at that time. */
	readonly revocation: AbortController;
};

export class ExpiringCredentials<Holder extends Expires> {
	readonly #clock: Clock;
	/** Least recently used first. */
	readonly #holders = new Map<string, Holder>();
	#cancelSweep: () => void = () => {};

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	get all(): Holder[] {
		return [...this.#holders.values()];
	}

	/** Finds a credential by the digest of its signed part. */
	get(key: string): Holder | undefined {
		const holder = this.#holders.get(key);
		// Now the most recently used.
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

	/** Forgets a credential without open connections if there is one. Otherwise the connections of the oldest end. */
	#makeRoom(): void {
		const counts = new Map<string, number>();
		for (const { owner } of this.all) counts.set(owner, (counts.get(owner) ?? 0) + 1);
		const most = Math.max(...counts.values());
		const crowd = [...this.#holders].filter(([, { owner }]) => counts.get(owner) === most);
		const idle = crowd.find(([, { revocation }]) => getEventListeners(revocation.signal, "abort").length === 0);
		const [key, holder] = idle ?? crowd[0] ?? [];
		if (key !== undefined && holder) this.#end(key, holder);
	}

	/** Schedules the next check for when a credential expires, so that its connections end in time. */
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
