/** A text that a caller types in parts. It is judged before the first part and approved for all of them at once. */

import { invariant } from "../errors.ts";
import type { SplitText, StreamPosition } from "../input/action.ts";
import type { Typed } from "./required-approval.ts";

/** State after the gate has allowed a part. */
type Passed = {
	/** The lease under which it was approved. */
	readonly fence: number | undefined;
	/** Revision of the line after it. */
	readonly revision: number;
	/** Position of the next part. */
	readonly next: number;
};

/** The new bytes of a part and their position in the stream. */
type Part = { readonly from: number; readonly bytes: Uint8Array };

export class SplitInput {
	readonly #bytes: Uint8Array;
	readonly #origin: StreamPosition;
	#passed: Passed | undefined;

	constructor({ bytes, origin }: SplitText) {
		this.#bytes = bytes;
		this.#origin = origin;
	}

	/** The rest of the text after this part. */
	after({ from, bytes }: Part, { options: { origin } }: Typed): Uint8Array {
		invariant(origin?.stream === this.#origin.stream, "a part of a text is on another stream than the text");
		const begin = from - this.#origin.position;
		const part = this.#bytes.subarray(begin, begin + bytes.byteLength);
		invariant(Buffer.compare(part, bytes) === 0, "a part of a text is not in the text");
		return this.#bytes.subarray(begin + bytes.byteLength);
	}

	/** A part was typed and the gate has allowed the whole text. */
	continueFrom(passed: Passed): void {
		this.#passed = passed;
	}

	/**
	 * Returns the permission if the part at this position needs no new judgement: nothing else changed the line or the
	 * stream.
	 */
	passedAt(revision: number, from: number): Passed | undefined {
		return this.#passed?.revision === revision && this.#passed.next === from ? this.#passed : undefined;
	}
}
