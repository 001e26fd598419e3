/** What a screen reader is told of those who need somebody: seldom, and only what is new. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

/** More often would talk over whatever somebody is doing. */
const PAUSE_MS = 5_000;

export class Announcer {
	readonly #said = signal("");
	#waiting: string | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	get said(): ReadonlySignal<string> {
		return this.#said;
	}

	/** At once, or when the pause is over; of several, the newest. */
	say(sentence: string): void {
		if (this.#timer !== undefined) {
			this.#waiting = sentence;
			return;
		}
		this.#said.value = sentence;
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			const next = this.#waiting;
			this.#waiting = undefined;
			if (next !== undefined && next !== this.#said.peek()) this.say(next);
		}, PAUSE_MS);
	}
}
