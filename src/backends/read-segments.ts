/** Buffers for output. Bytes that were handed out are never overwritten. */

/** Small, so that an idle session costs little. */
const firstSegment = 4 * 1024;

export class ReadSegments {
	readonly #largest: number;
	#segment: Uint8Array = new Uint8Array(0);
	/** Bytes up to `#handed` were handed out; those up to `#filled` wait. */
	#handed = 0;
	#filled = 0;

	constructor(largest: number) {
		this.#largest = largest;
	}

	/** Number of bytes that wait to be handed out. */
	get waiting(): number {
		return this.#filled - this.#handed;
	}

	/** Whether the next read needs a new segment, because little of this one is left. */
	get isUsedUp(): boolean {
		const { byteLength } = this.#segment;
		return byteLength === 0 || byteLength - this.#filled < byteLength / 8;
	}

	/** The free space to read into. No bytes may wait when the segment is used up. */
	space(): Uint8Array {
		if (this.isUsedUp) {
			const bytes = Math.min(Math.max(this.#segment.byteLength * 2, firstSegment), this.#largest);
			this.#segment = Buffer.allocUnsafeSlow(bytes);
			this.#handed = this.#filled = 0;
		}
		return this.#segment.subarray(this.#filled);
	}

	/** Adds bytes that were read into the free space. */
	fill(bytes: number): void {
		this.#filled += bytes;
	}

	/** Returns all waiting bytes. */
	handOut(): Uint8Array {
		const bytes = this.#segment.subarray(this.#handed, this.#filled);
		this.#handed = this.#filled;
		return bytes;
	}
}
