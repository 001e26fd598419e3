/** Where the bytes of a text were in the output, and when: one entry for each part that was in one piece there. */

export class TextPlaces {
	/** Side by side, since coloured output has millions of parts: from which byte of the text on, which offset, and which time. */
	#starts: number[] = [];
	#offsets: number[] = [];
	#times: number[] = [];

	add(start: number, offset: number, time: number): void {
		this.#starts.push(start);
		this.#offsets.push(offset);
		this.#times.push(time);
	}

	offsetOf(at: number): number {
		const index = this.#indexOf(at);
		return (this.#offsets[index] ?? 0) + at - (this.#starts[index] ?? 0);
	}

	timeOf(at: number): number {
		return this.#times[this.#indexOf(at)] ?? 0;
	}

	/** The text begins so many bytes later now. */
	forget(count: number): void {
		const index = this.#indexOf(count);
		this.#starts = this.#starts.slice(index).map((start) => start - count);
		this.#offsets = this.#offsets.slice(index);
		this.#times = this.#times.slice(index);
	}

	clear(): void {
		this.#starts = [];
		this.#offsets = [];
		this.#times = [];
	}

	/** The last part that does not begin after a byte, which is the first if there is none. */
	#indexOf(at: number): number {
		let low = 0;
		let high = this.#starts.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >>> 1;
			if ((this.#starts[middle] ?? 0) <= at) low = middle;
			else high = middle - 1;
		}
		return low;
	}
}
