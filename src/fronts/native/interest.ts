/** How many want something to go on, and the signal that ends it when none does any more. */
export class Interest {
	#count = 0;
	#isEnded = false;
	#over = new AbortController();

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
		this.#over = new AbortController();
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
