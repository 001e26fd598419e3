/** Memory for large frames, used again and again: a fresh 64 KiB for each would cost more than sending it. */

/** Smaller ones come from Node's own pool. */
const SMALL_BYTES = 4 * 1024;
/** How many are kept for the next frame; enough for a few busy clients at a time. */
const KEPT = 32;

export class FrameBuffers {
	readonly #size: number;
	readonly #free: Buffer[] = [];

	constructor(size: number) {
		this.#size = size;
	}

	/** A frame made of these parts, and what to call when nobody reads it any more. */
	join(parts: readonly Uint8Array[], length: number): { readonly frame: Buffer; readonly release: () => void } {
		if (length <= SMALL_BYTES || length > this.#size) return { frame: Buffer.concat(parts, length), release: () => {} };
		const whole = this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
		let at = 0;
		for (const part of parts) {
			whole.set(part, at);
			at += part.byteLength;
		}
		const release = () => {
			if (this.#free.length < KEPT) this.#free.push(whole);
		};
		return { frame: whole.subarray(0, length), release };
	}
}
