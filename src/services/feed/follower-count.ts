/** Counts the followers of something, with a signal that aborts when the last one leaves. */

import { setMaxListeners } from "node:events";

export class FollowerCount {
	#count = 0;
	#isEnded = false;
	#over = createEnd();

	/** Aborts when the last current follower leaves. */
	get signal(): AbortSignal {
		return this.#over.signal;
	}

	get hasFollowers(): boolean {
		return this.#count > 0 && !this.#isEnded;
	}

	/** True for the first follower, which must start the work. */
	join(): boolean {
		if (++this.#count > 1 || this.#isEnded) return false;
		this.#over = createEnd();
		return true;
	}

	leave(): void {
		if (--this.#count === 0) this.#over.abort();
	}

	/** Ends the work for good, also for later followers. */
	end(): void {
		this.#isEnded = true;
		this.#over.abort();
	}
}

/** Each session adds a listener, so a high count is not a leak. */
function createEnd(): AbortController {
	const end = new AbortController();
	setMaxListeners(0, end.signal);
	return end;
}
