/** Reusable memory for large frames: allocating 64 KiB for each would cost more than sending it. */

/** Smaller frames come from Node's pool. */
const SMALL_BYTES = 4 * 1024;
/** Buffers kept for reuse; enough for a few busy clients. */
const KEPT = 32;

export class FrameBuffers {
	readonly #size: number;
	readonly #free: Buffer[] = [];

	constructor(size: number) {
		this.#size = size;
	}

	/** Joins parts to a frame. Call `release` once the frame is no longer read. */
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
