/** Limits failed logins by address. */

import type { Clock } from "../core/async/clock.ts";

/**
 * Failures of one address within this time before it has to wait.
 * @limit failed logins from one address (IPv6: one /64) in a minute | 429 with `Retry-After`, from 1 s doubling to 5
 * min; valid credentials are always accepted
 */
const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
/**
 * Number of addresses that are remembered. Above it, the first one is forgotten.
 * @limit addresses with failed logins | the first is forgotten
 */
const MAX_ADDRESSES = 10_000;

type Offender = { since: number; count: number; waitMs: number; until: number };

/** Counts failed logins by address. Only failures are delayed: valid credentials are always accepted. */
export class FailedLogins {
	readonly #clock: Clock;
	readonly #offenders = new Map<string, Offender>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Counts a failure. Returns zero, or the milliseconds that the address has to wait. */
	note(address: string): number {
		const now = this.#clock.monotonic();
		const offender = this.#offender(networkOf(address), now);
		if (now < offender.until) return Math.ceil(offender.until - now);
		offender.count++;
		if (offender.count <= MAX_FAILURES) return 0;
		offender.waitMs = Math.min(LONGEST_WAIT_MS, offender.waitMs * 2 || FIRST_WAIT_MS);
		offender.until = now + offender.waitMs;
		return offender.waitMs;
	}

	get size(): number {
		return this.#offenders.size;
	}

	#offender(network: string, now: number): Offender {
		const known = this.#offenders.get(network);
		if (known && now - Math.max(known.since, known.until) <= WINDOW_MS) return known;
		this.#offenders.delete(network);
		const [oldest] = this.#offenders.keys();
		if (this.#offenders.size >= MAX_ADDRESSES && oldest !== undefined) this.#offenders.delete(oldest);
		const offender = { since: now, count: 0, waitMs: 0, until: 0 };
		this.#offenders.set(network, offender);
		return offender;
	}
}

/** The network that counts as one address: the /64 of an IPv6 address, since one customer usually controls all of it. */
export function networkOf(address: string): string {
	const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
	if (mapped !== undefined) return mapped;
	if (!address.includes(":")) return address;
	const [left = "", right] = address.split("%", 1)[0]?.split("::") ?? [];
	const parts = (text: string | undefined) => (text ? text.split(":") : []);
	const missing = right === undefined ? 0 : Math.max(0, 8 - parts(left).length - parts(right).length);
	return [...parts(left), ...Array<string>(missing).fill("0"), ...parts(right)].slice(0, 4).join(":");
}
