/** A limit on how often credentials of one address may be wrong. */

import type { Clock } from "../core/clock.ts";

/** Failures of one address within this time before it has to wait. */
const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
/** How many addresses are remembered; the one that came first is forgotten for one more. */
const MAX_ADDRESSES = 10_000;

type Offender = { since: number; count: number; waitMs: number; until: number };

/** Failed credentials by address. Only failures are slowed down: whoever shows a valid one is let in all the same. */
export class Failures {
	readonly #clock: Clock;
	readonly #offenders = new Map<string, Offender>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Counts one more; zero if it may be answered as such, otherwise how long to wait, in milliseconds. */
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

/** Who has one IPv6 address usually has 2^64 of them, so they count as one. */
export function networkOf(address: string): string {
	const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
	if (mapped !== undefined) return mapped;
	if (!address.includes(":")) return address;
	const [left = "", right] = address.split("%", 1)[0]?.split("::") ?? [];
	const parts = (text: string | undefined) => (text ? text.split(":") : []);
	const missing = right === undefined ? 0 : Math.max(0, 8 - parts(left).length - parts(right).length);
	return [...parts(left), ...Array<string>(missing).fill("0"), ...parts(right)].slice(0, 4).join(":");
}
