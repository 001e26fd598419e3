/**
 * Signed-in browsers. Each has a cookie and a page key, which end with the token that signed it in.
 *
 * The cookie alone is not enough, because browsers send it to every port of the host, whatever server listens there. The
 * page key alone is not enough either, because scripts can read it; only pages of our origin can.
 */

import type { Clock } from "../core/async/clock.ts";
import type { BrowserPrincipal, CredentialPrincipal } from "../core/policy/access.ts";
import { browserPrincipal, createRevocation } from "./principal.ts";
import { createSecret, digest, isDigestOf, type RandomBytes } from "./secret-digest.ts";

/** A stored browser. */
export type BrowserRecord = {
	/** Digest of the cookie's value. */
	readonly hash: string;
	/** Digest of the page key. */
	readonly key: string;
	/** Id of the token. */
	readonly token: string;
	readonly expiresAt: number;
};

/** @limit the sign-in of a browser | it ends */
export const COOKIE_LIFETIME_MS: number = 30 * 24 * 3_600_000;
/**
 * Browsers per token. One more signs out the oldest.
 * @limit signed-in browsers of one token | the oldest is signed out
 */
const MAX_OF_TOKEN = 20;

type Browser = {
	readonly record: BrowserRecord;
	readonly principal: BrowserPrincipal;
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

	/** Restores stored browsers whose tokens still exist. */
	restore(records: readonly BrowserRecord[], ownerOf: (token: string) => CredentialPrincipal | undefined): void {
		for (const record of records) {
			const owner = ownerOf(record.token);
			if (owner) this.#add(record, owner);
		}
		this.sweep();
	}

	get records(): BrowserRecord[] {
		return [...this.#browsers.values()].map(({ record }) => record);
	}

	/** Signs a browser in as `owner`, and returns its cookie value and page key. */
	add(owner: CredentialPrincipal): { readonly value: string; readonly pageKey: string } {
		const own = this.records.filter(({ token }) => token === owner.id);
		if (own.length >= MAX_OF_TOKEN && own[0]) this.#remove(own[0].hash);
		const value = createSecret(this.#randomBytes);
		const pageKey = createSecret(this.#randomBytes);
		const expiresAt = this.#clock.now() + COOKIE_LIFETIME_MS;
		this.#add({ hash: digest(value), key: digest(pageKey), token: owner.id, expiresAt }, owner);
		return { value, pageKey };
	}

	find(value: string, pageKey: string): BrowserPrincipal | undefined {
		const browser = this.#browsers.get(digest(value));
		if (!browser || !isDigestOf(browser.record.key, pageKey) || browser.principal.revoked.aborted) return undefined;
		return browser.record.expiresAt > this.#clock.now() ? browser.principal : undefined;
	}

	/** Signs a browser out and ends its connections. Returns the browser if it was signed in. */
	remove(value: string): BrowserPrincipal | undefined {
		return this.#remove(digest(value));
	}

	/** When the next sign-in expires; infinity if there is none. */
	get nextEnd(): number {
		return this.records.reduce((next, { expiresAt }) => Math.min(next, expiresAt), Number.POSITIVE_INFINITY);
	}

	/** Removes expired sign-ins and those of ended tokens. */
	sweep(): boolean {
		const now = this.#clock.now();
		const over = [...this.#browsers.values()].filter(
			({ record, principal }) => record.expiresAt <= now || principal.revoked.aborted,
		);
		for (const { record } of over) this.#remove(record.hash);
		return over.length > 0;
	}

	#add(record: BrowserRecord, owner: CredentialPrincipal): void {
		const revocation = createRevocation(owner.revoked);
		this.#browsers.set(record.hash, { record, revocation, principal: browserPrincipal(owner, revocation.signal) });
	}

	#remove(hash: string): BrowserPrincipal | undefined {
		const browser = this.#browsers.get(hash);
		this.#browsers.delete(hash);
		browser?.revocation.abort();
		return browser?.principal;
	}
}
