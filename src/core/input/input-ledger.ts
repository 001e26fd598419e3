/** Remembers the progress of each input stream of a session. */

import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";

/**
 * Retries are recognized for this long after the last use of a stream. No client retries longer.
 * @limit an input stream that is not used | it is forgotten; continuing it is `invalid_argument`
 */
const REMEMBERED_MS = 60 * 60 * 1000;
/**
 * Streams remembered at once: four new ones per second for an hour, 5 MB at most. Another one is refused, because
 * forgetting a recent stream could make its next retry run twice.
 * @limit input streams of a session | a new one is refused with `limit_exceeded`
 */
const MAX_STREAMS = 16_384;

/** The output offset just before the action at this position was accepted. */
type InputPlace = { readonly position: number; readonly from: number };

/**
 * `next` is the next expected position, `written` what the kernel took. `places` belong to its latest actions, oldest
 * first.
 */
export type InputStream = { next: number; written: number; places?: readonly InputPlace[] };

type Entry = {
	readonly stream: InputStream;
	/** Monotonic time. */
	usedAt: number;
	/** Number of current followers. */
	attached: number;
};

export class InputLedger {
	readonly #clock: Clock;
	/** By name, least recently used first. */
	readonly #entries = new Map<string, Entry>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Returns a stream; an empty one if it has not begun or is forgotten. */
	find(name: string): InputStream {
		return this.#entries.get(name)?.stream ?? { next: 0, written: 0 };
	}

	/** Returns a stream and marks it as used. A new one is refused when too many must be remembered. */
	use(name: string): InputStream {
		return this.#touch(name).stream;
	}

	/** Returns a stream that is remembered until `detach` is called. */
	attach(name: string): { readonly stream: InputStream; readonly detach: () => void } {
		const entry = this.#touch(name);
		entry.attached++;
		const detach = () => {
			entry.attached--;
			if (this.#entries.get(name) !== entry) return;
			// Nothing of it was accepted, so there is nothing to remember.
			if (entry.attached === 0 && entry.stream.next === 0) this.#entries.delete(name);
			else this.#touch(name);
		};
		return { stream: entry.stream, detach };
	}

	/** Forgets a stream that will not be used again. */
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
			throw new SessionError("limit_exceeded", `too many input streams in this session (limit ${MAX_STREAMS})`, {
				hint: "continue an existing stream, or send without naming one",
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
