/** Secrets that are good once, and only for a short while: tickets and sign-in links. */

import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { createSecret, digest, type RandomBytes } from "./secret.ts";

/** How many may be waiting over all owners, and for one of them. */
const MAX_WAITING = 10_000;
const MAX_OF_OWNER = 100;

export type OneTimeOptions = {
	/** What they are called in a refusal. */
	readonly what: string;
	readonly lifetimeMs: number;
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
};

type Waiting<T> = { readonly owner: string; readonly value: T; readonly expiresAt: number };

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
		const expiresAt = clock.now() + lifetimeMs;
		this.#waiting.set(digest(secret), { owner, value, expiresAt });
		return { secret, expiresAt };
	}

	/** What the secret stands for, the first time and in time; undefined otherwise. */
	redeem(secret: string): T | undefined {
		const key = digest(secret);
		const waiting = this.#waiting.get(key);
		this.#waiting.delete(key);
		return waiting && waiting.expiresAt > this.#options.clock.now() ? waiting.value : undefined;
	}

	/** Forgets what nobody used in time. */
	sweep(): void {
		const now = this.#options.clock.now();
		for (const [key, { expiresAt }] of this.#waiting) {
			if (expiresAt > now) break;
			this.#waiting.delete(key);
		}
	}
}
