/** Short-lived secrets that can be used once: tickets and sign-in links. */

import type { Clock } from "../core/async/clock.ts";
import { SessionError } from "../core/errors.ts";
import { createSecret, digest, type RandomBytes } from "./secret-digest.ts";

/**
 * Unused secrets of all owners, and of one owner.
 * @limit unused tickets, and unused sign-in links | `limit_exceeded`
 */
const MAX_WAITING = 10_000;
/** @limit the same of one token | its oldest is dropped */
const MAX_OF_OWNER = 100;

type OneTimeOptions = {
	/** Their name in errors. */
	readonly what: string;
	readonly lifetimeMs: number;
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
};

/** `endsAt` is a time of the monotonic clock, so that setting the clock has no effect. */
type Waiting<T> = { readonly owner: string; readonly value: T; readonly endsAt: number };

export class OneTimeSecrets<T> {
	readonly #options: OneTimeOptions;
	/** By digest, oldest first. All have the same lifetime. */
	readonly #waiting = new Map<string, Waiting<T>>();

	constructor(options: OneTimeOptions) {
		this.#options = options;
	}

	issue(owner: string, value: T): { secret: string; expiresAt: number } {
		const { clock, lifetimeMs, randomBytes, what } = this.#options;
		this.sweep();
		const own = [...this.#waiting].filter(([, waiting]) => waiting.owner === owner);
		// An owner with too many unused secrets loses its own oldest one.
		if (own.length >= MAX_OF_OWNER) this.#waiting.delete(own[0]?.[0] ?? "");
		if (this.#waiting.size >= MAX_WAITING)
			throw new SessionError("limit_exceeded", `too many unused ${what} (limit ${MAX_WAITING})`);
		const secret = createSecret(randomBytes);
		this.#waiting.set(digest(secret), { owner, value, endsAt: clock.monotonic() + lifetimeMs });
		return { secret, expiresAt: clock.now() + lifetimeMs };
	}

	/** The value of a secret that is unused and not expired; undefined otherwise. */
	find(secret: string): T | undefined {
		const waiting = this.#waiting.get(digest(secret));
		return waiting && waiting.endsAt > this.#options.clock.monotonic() ? waiting.value : undefined;
	}

	/** The same, and uses up the secret. */
	redeem(secret: string): T | undefined {
		const value = this.find(secret);
		this.#waiting.delete(digest(secret));
		return value;
	}

	/** Removes expired secrets. */
	sweep(): void {
		const now = this.#options.clock.monotonic();
		for (const [key, { endsAt }] of this.#waiting) {
			if (endsAt > now) break;
			this.#waiting.delete(key);
		}
	}
}
