/** A text that one caller types in parts: it is judged before the first of them, and approved for all of them at once. */

import type { Origin, TypedWhole } from "./act.ts";
import type { Typed } from "./demand.ts";

export class Whole {
	readonly #bytes: Uint8Array;
	readonly #origin: Origin;
	#approved: { readonly fence: number; readonly revision: number } | undefined;

	constructor({ bytes, origin }: TypedWhole) {
		this.#bytes = bytes;
		this.#origin = origin;
	}

	/** What its caller types behind this part of it. */
	after({ bytes, options: { origin } }: Typed): Uint8Array {
		if (origin?.stream !== this.#origin.stream) return new Uint8Array();
		return this.#bytes.subarray(origin.position + bytes.byteLength - this.#origin.position);
	}

	/** A part of it was typed with approval, under this lease; its line was as this revision of it says then. */
	goOn(fence: number, revision: number): void {
		this.#approved = { fence, revision };
	}

	/** Under which lease the next part may be typed: if the whole is approved, and nobody has typed anything in between. */
	fenceAt(revision: number): number | undefined {
		return this.#approved?.revision === revision ? this.#approved.fence : undefined;
	}
}
