/** Credentials that somebody else has signed and that are good until a time: who showed them, and the end of all that they opened. */

import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";

/** How many may be in use at a time; only who signs them can make so many. */
const MAX_IN_USE = 10_000;
/** How often what is over is looked for at the latest: the clock may have been set. */
const SWEEP_MS = 60_000;
const MIN_SWEEP_MS = 1;

export type Expires = {
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
	/** Aborted then. */
	readonly revocation: AbortController;
};

export class Expiring<Holder extends Expires> {
	readonly #clock: Clock;
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
		return this.#holders.get(key);
	}

	add(key: string, holder: Holder): Holder {
		this.#sweep();
		if (this.#holders.size >= MAX_IN_USE) {
			throw new SessionError("limit_exceeded", `${MAX_IN_USE} JWTs are in use, which is all there may be`);
		}
		this.#holders.set(key, holder);
		this.#sweepLater();
		return holder;
	}

	close(): void {
		this.#cancelSweep();
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
		for (const [key, { expiresAt, revocation }] of this.#holders) {
			if (expiresAt > now) continue;
			this.#holders.delete(key);
			revocation.abort();
		}
	}
}
