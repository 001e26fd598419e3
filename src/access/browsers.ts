/**
 * The browsers that are signed in: each has a cookie and a page key, which end with the token that they came from.
 *
 * The cookie alone is not enough: browsers send it to every port of the host, whoever serves there. The page key is in
 * storage that only pages of our own origin can read; it alone is not enough either, because scripts can read it.
 */

import type { Principal } from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { createRevocation, withRevocation } from "./principal.ts";
import { createSecret, digest, isDigestOf, type RandomBytes } from "./secret.ts";

/** A browser as it is stored. */
export type BrowserRecord = {
	/** Of the cookie's value. */
	readonly hash: string;
	/** Digest of the page key. */
	readonly key: string;
	/** The token's id. */
	readonly token: string;
	readonly expiresAt: number;
};

export const COOKIE_LIFETIME_MS: number = 30 * 24 * 3_600_000;
/** How many of one token; the oldest is signed out for one more. */
const MAX_OF_TOKEN = 20;

type Browser = {
	readonly record: BrowserRecord;
	readonly principal: Principal;
	readonly revocation: AbortController;
};

export class Browsers {
	readonly #clock: Clock;
	readonly #randomBytes: RandomBytes;
	readonly #browsers = new Map<string, Browser>();

	constructor({ clock, randomBytes }: { readonly clock: Clock; readonly randomBytes: RandomBytes }) {
		this.#clock = clock;
		this.#randomBytes = randomBytes;
	}

	/** Takes in what was stored, if its token is still there. */
	restore(records: readonly BrowserRecord[], ownerOf: (token: string) => Principal | undefined): void {
		for (const record of records) {
			const owner = ownerOf(record.token);
			if (owner) this.#add(record, owner);
		}
		this.sweep();
	}

	get records(): BrowserRecord[] {
		return [...this.#browsers.values()].map(({ record }) => record);
	}

	/** Signs a browser in as `owner`; the value of its cookie, and its page key. */
	add(owner: Principal): { readonly value: string; readonly pageKey: string } {
		const own = this.records.filter(({ token }) => token === owner.id);
		if (own.length >= MAX_OF_TOKEN && own[0]) this.#remove(own[0].hash);
		const value = createSecret(this.#randomBytes);
		const pageKey = createSecret(this.#randomBytes);
		const expiresAt = this.#clock.now() + COOKIE_LIFETIME_MS;
		this.#add({ hash: digest(value), key: digest(pageKey), token: owner.id, expiresAt }, owner);
		return { value, pageKey };
	}

	find(value: string, pageKey: string): Principal | undefined {
		const browser = this.#browsers.get(digest(value));
		if (!browser || !isDigestOf(browser.record.key, pageKey) || browser.principal.revoked.aborted) return undefined;
		return browser.record.expiresAt > this.#clock.now() ? browser.principal : undefined;
	}

	/** Signs a browser out, and ends what it has open; whose it was, if it was anybody's. */
	remove(value: string): Principal | undefined {
		return this.#remove(digest(value));
	}

	/** When the next one is over; infinity if there is none. */
	get nextEnd(): number {
		return this.records.reduce((next, { expiresAt }) => Math.min(next, expiresAt), Number.POSITIVE_INFINITY);
	}

	/** Forgets those that are over, and those whose tokens are gone. */
	sweep(): boolean {
		const now = this.#clock.now();
		const over = [...this.#browsers.values()].filter(
			({ record, principal }) => record.expiresAt <= now || principal.revoked.aborted,
		);
		for (const { record } of over) this.#remove(record.hash);
		return over.length > 0;
	}

	#add(record: BrowserRecord, owner: Principal): void {
		const revocation = createRevocation(owner.revoked);
		this.#browsers.set(record.hash, { record, revocation, principal: withRevocation(owner, revocation.signal) });
	}

	#remove(hash: string): Principal | undefined {
		const browser = this.#browsers.get(hash);
		this.#browsers.delete(hash);
		browser?.revocation.abort();
		return browser?.principal;
	}
}
