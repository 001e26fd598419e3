/** Announces sessions that need attention to screen readers: rate-limited, and only new ones. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

/** Minimum time between announcements, so that they don't interrupt the user. */
const PAUSE_MS = 5_000;

export class Announcer {
	readonly #said = signal("");
	#waiting: string | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	get said(): ReadonlySignal<string> {
		return this.#said;
	}

	/** Announces at once or after the pause. The newest of several wins. */
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
