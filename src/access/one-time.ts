/** Secrets that are good once, and only for a short while: tickets and sign-in links. */

import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { createSecret, digest, type RandomBytes } from "./secret.ts";

/** How many may be waiting over all owners, and for one of them. */
const MAX_WAITING = 10_000;
const MAX_OF_OWNER = 100;

type OneTimeOptions = {
	/** What they are called in a refusal. */
	readonly what: string;
	readonly lifetimeMs: number;
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
};

/** `endsAt` by the monotonic clock: a clock that is set neither ends nor prolongs it. */
type Waiting<T> = { readonly owner: string; readonly value: T; readonly endsAt: number };

export class OneTime<T> {
	readonly #options: OneTimeOptions;
	/** By digest; all live equally long, so the oldest are those that end first. */
	readonly #waiting = new Map<string, Waiting<T>>();

	constructor(options: OneTimeOptions) {
		this.#options = options;
	}

	issue(owner: string, value: T): { secret: string; expiresAt: number } {
		const { clock, lifetimeMs, randomBytes, what } = this.#options;
		this.sweep();
		const own = [...this.#waiting].filter(([, waiting]) => waiting.owner === owner);
		// Somebody who asks for many and uses none only takes from themselves.
		if (own.length >= MAX_OF_OWNER) this.#waiting.delete(own[0]?.[0] ?? "");
		if (this.#waiting.size >= MAX_WAITING) throw new SessionError("limit_exceeded", `too many ${what} are waiting`);
		const secret = createSecret(randomBytes);
		this.#waiting.set(digest(secret), { owner, value, endsAt: clock.monotonic() + lifetimeMs });
		return { secret, expiresAt: clock.now() + lifetimeMs };
	}

	/** What the secret stands for, as long as it was not used and in time; undefined otherwise. */
	find(secret: string): T | undefined {
		const waiting = this.#waiting.get(digest(secret));
		return waiting && waiting.endsAt > this.#options.clock.monotonic() ? waiting.value : undefined;
	}

	/** The same, the first time only. */
	redeem(secret: string): T | undefined {
		const value = this.find(secret);
		this.#waiting.delete(digest(secret));
		return value;
	}

	/** Forgets what nobody used in time. */
	sweep(): void {
		const now = this.#options.clock.monotonic();
		for (const [key, { endsAt }] of this.#waiting) {
			if (endsAt > now) break;
			this.#waiting.delete(key);
		}
	}
}
