/** Which input streams a session knows, and how far each of them has come. */

import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";

/**
 * A repeat is recognised for at least this long after its stream was last used: longer than anybody
 * goes on trying to send something again.
 */
const REMEMBERED_MS = 60 * 60 * 1000;
/**
 * How many are remembered: four new ones a second for that hour, and 5 MB at most. One more is refused,
 * since to forget a young one instead could make its next repeat be carried out twice.
 */
const MAX_STREAMS = 16_384;

/** Where the output ended before what stands at this position was accepted. */
type InputPlace = { readonly position: number; readonly from: number };

/** `next` is the position wanted, `written` what the kernel took; the places of its newest acts, oldest first. */
export type InputStream = { next: number; written: number; places?: readonly InputPlace[] };

type Entry = {
	readonly stream: InputStream;
	/** By the monotonic clock. */
	usedAt: number;
	/** How many follow it now. */
	attached: number;
};

export class InputLedger {
	readonly #clock: Clock;
	/** By name, in the order of last use. */
	readonly #entries = new Map<string, Entry>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** What is known of a stream; it has not begun, or is forgotten, when that is nothing. */
	find(name: string): InputStream {
		return this.#entries.get(name)?.stream ?? { next: 0, written: 0 };
	}

	/** The stream, which is used now. A new one is refused when there are too many that must not be forgotten. */
	use(name: string): InputStream {
		return this.#touch(name).stream;
	}

	/** The stream, which is not forgotten until it is given back by the returned function. */
	attach(name: string): { readonly stream: InputStream; readonly detach: () => void } {
		const entry = this.#touch(name);
		entry.attached++;
		const detach = () => {
			entry.attached--;
			if (this.#entries.get(name) !== entry) return;
			// Nothing was ever accepted of it, so there is nothing to remember.
			if (entry.attached === 0 && entry.stream.next === 0) this.#entries.delete(name);
			else this.#touch(name);
		};
		return { stream: entry.stream, detach };
	}

	/** Nobody will come back to it. */
	forget(name: string): void {
		this.#entries.delete(name);
	}

	#touch(name: string): Entry {
		const entry = this.#entries.get(name) ?? this.#create();
		entry.usedAt = this.#clock.monotonic();
		this.#entries.delete(name);
		this.#entries.set(name, entry);
		return entry;
	}

	#create(): Entry {
		this.#forgetOld();
		if (this.#entries.size >= MAX_STREAMS) {
			throw new SessionError("limit_exceeded", `the session remembers ${MAX_STREAMS} input streams already`, {
				hint: "go on with a stream that has begun, or send without naming one",
			});
		}
		return { stream: { next: 0, written: 0 }, usedAt: 0, attached: 0 };
	}

	#forgetOld(): void {
		const lastUse = this.#clock.monotonic() - REMEMBERED_MS;
		for (const [name, { stream, usedAt, attached }] of this.#entries) {
			if (usedAt > lastUse) break;
			if (attached === 0 && stream.written === stream.next) this.#entries.delete(name);
		}
	}
}
