/** The memory that output is read into and stays in: bytes that were handed out are never written again. */

/** An idle session should cost next to nothing. */
const firstSegment = 4 * 1024;

export class Segments {
	readonly #largest: number;
	#segment: Uint8Array = new Uint8Array(0);
	/** Bytes up to `#handed` were handed out; up to `#filled` they wait. */
	#handed = 0;
	#filled = 0;

	constructor(largest: number) {
		this.#largest = largest;
	}

	/** How many bytes wait to be handed out. */
	get waiting(): number {
		return this.#filled - this.#handed;
	}

	/** Whether the next space will be in another segment, because too little is left of this to be worth a read. */
	get isUsedUp(): boolean {
		const { byteLength } = this.#segment;
		return byteLength === 0 || byteLength - this.#filled < byteLength / 8;
	}

	/** Where to read to. Nothing may wait when the segment is used up. */
	space(): Uint8Array {
		if (this.isUsedUp) {
			const bytes = Math.min(Math.max(this.#segment.byteLength * 2, firstSegment), this.#largest);
			this.#segment = Buffer.allocUnsafeSlow(bytes);
			this.#handed = this.#filled = 0;
		}
		return this.#segment.subarray(this.#filled);
	}

	/** So many bytes were read to there. */
	fill(bytes: number): void {
		this.#filled += bytes;
	}

	/** All that waits. */
	handOut(): Uint8Array {
		const bytes = this.#segment.subarray(this.#handed, this.#filled);
		this.#handed = this.#filled;
		return bytes;
	}
}
