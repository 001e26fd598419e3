/**
 * The turn of one caller among those that type into the same agent, for a caller whose input may be held for approval. It
 * begins with the first byte that may be typed, so that nobody else waits for the approval.
 */

import type { Serial } from "../../async/serial.ts";

export class Turn {
	readonly #turns: Serial;
	#end: (() => void) | undefined;

	constructor(turns: Serial) {
		this.#turns = turns;
	}

	/** Resolves once nobody else types. */
	async enter(): Promise<void> {
		if (this.#end) return;
		await new Promise<void>((entered) => {
			void this.#turns.run(
				() =>
					new Promise<void>((end) => {
						this.#end = end;
						entered();
					}),
			);
		});
	}

	leave(): void {
		this.#end?.();
		this.#end = undefined;
	}
}
