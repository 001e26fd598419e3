/** What a terminal shows as far as it may be seen: secrets masked, and never held back for long. */

import type { Clock } from "./clock.ts";
import { Masks } from "./masks.ts";

/** How long output may wait that could be the beginning of a secret: nobody notices, and a program writes the rest at once. */
const HELD_MS = 50;

export class MaskedOutput {
	readonly #clock: Clock;
	readonly #onShown: (bytes: Uint8Array) => void;
	readonly #masks = new Masks();
	#cancelRelease: (() => void) | undefined;

	constructor(clock: Clock, onShown: (bytes: Uint8Array) => void) {
		this.#clock = clock;
		this.#onShown = onShown;
	}

	/** From now on it is not seen any more. */
	mask(secret: Uint8Array): void {
		this.#masks.add(secret);
	}

	take(bytes: Uint8Array): void {
		this.#show(this.#masks.take(bytes));
	}

	/** Shows what is held back, whatever it is: nothing comes behind it for now. */
	release(): void {
		if (this.#masks.isHolding) this.#show(this.#masks.release());
	}

	#show(bytes: Uint8Array): void {
		if (bytes.byteLength > 0) this.#onShown(bytes);
		this.#cancelRelease?.();
		this.#cancelRelease = this.#masks.isHolding ? this.#clock.after(HELD_MS, () => this.release()) : undefined;
	}
}
