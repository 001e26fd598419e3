/** How many want something to go on, and the signal that ends it when none does any more. */

import { setMaxListeners } from "node:events";

export class Interest {
	#count = 0;
	#isEnded = false;
	#over = createEnd();

	/** Aborted when the last of those who are there now leaves. */
	get signal(): AbortSignal {
		return this.#over.signal;
	}

	get isThere(): boolean {
		return this.#count > 0 && !this.#isEnded;
	}

	/** True for the first one, who has it begun. */
	join(): boolean {
		if (++this.#count > 1 || this.#isEnded) return false;
		this.#over = createEnd();
		return true;
	}

	leave(): void {
		if (--this.#count === 0) this.#over.abort();
	}

	/** Nothing goes on from now on, whoever joins. */
	end(): void {
		this.#isEnded = true;
		this.#over.abort();
	}
}

/** Every session is kept up with until then, so that many listeners are no sign of a leak. */
function createEnd(): AbortController {
	const end = new AbortController();
	setMaxListeners(0, end.signal);
	return end;
}
