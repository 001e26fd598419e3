/** Counts the output in flight to a client: sent but not consumed, not counting gaps. */

type Skipped = { readonly from: number; to: number };

export class OutputWindow {
	readonly #size: number;
	#consumed: number;
	#sent: number;
	/** Gaps after the consumed offset, in order. They don't count as in flight. */
	#skipped: Skipped[] = [];

	/** Everything before `from` counts as consumed. */
	constructor(size: number, from: number) {
		this.#size = size;
		this.#consumed = from;
		this.#sent = from;
	}

	/** Bytes that may be sent now. */
	get room(): number {
		return Math.max(0, this.#size - this.inFlight);
	}

	get inFlight(): number {
		return this.#skipped.reduce((bytes, { from, to }) => bytes - (to - from), this.#sent - this.#consumed);
	}

	/** Offset after the last byte sent. */
	get sent(): number {
		return this.#sent;
	}

	send(bytes: number): void {
		this.#sent += bytes;
	}

	/** The bytes up to `to` will never be sent. */
	skip(to: number): void {
		const from = this.#sent;
		if (to <= from) return;
		const last = this.#skipped.at(-1);
		if (last?.to === from) last.to = to;
		else this.#skipped.push({ from, to });
		this.#sent = to;
		this.#settle();
	}

	/** False if the client can't have consumed up to this offset. An offset older than the last one has no effect. */
	consume(offset: number): boolean {
		if (offset > this.#sent) return false;
		this.#consumed = Math.max(this.#consumed, offset);
		this.#settle();
		return true;
	}

	#settle(): void {
		let [first] = this.#skipped;
		while (first && first.from <= this.#consumed) {
			this.#consumed = Math.max(this.#consumed, first.to);
			this.#skipped.shift();
			[first] = this.#skipped;
		}
	}
}
