/** Maps bytes of a text to their offsets and times in the output: one entry per contiguous part. */

export class TextOffsets {
	/** Parallel arrays, since colored output has millions of parts: start in the text, offset and time of each part. */
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

	/** Removes this many bytes from the beginning of the text. */
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

	/** Index of the part that contains a byte; the first part if none does. */
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
