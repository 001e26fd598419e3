/** Notices that a full-screen program has drawn much that no model of its screen has: such models are elsewhere. */

import { Change } from "./change.ts";

/** How much that is, in bytes: a model takes some milliseconds for it. */
const MUCH_BYTES = 256 * 1024;

type UndrawnOptions = {
	/** Where the output ends. */
	readonly end: () => number;
	readonly alternate: () => { readonly isOn: boolean; readonly since: number };
	readonly isEnded: () => boolean;
};

export class Undrawn {
	readonly #options: UndrawnOptions;
	readonly #change = new Change();

	constructor(options: UndrawnOptions) {
		this.#options = options;
	}

	/** There is more output, or its last. */
	note(): void {
		if (this.#options.alternate().isOn || this.#options.isEnded()) this.#change.happen();
	}

	/** Resolves when it has drawn much since an offset; with false when it will not any more, or the signal ends the wait. */
	async untilMuch(after: number, signal?: AbortSignal): Promise<boolean> {
		const { end, alternate, isEnded } = this.#options;
		while (!isEnded() && !signal?.aborted) {
			const { isOn, since } = alternate();
			if (isOn && end() - Math.max(since, after) >= MUCH_BYTES) return true;
			await this.#change.next(signal);
		}
		return false;
	}
}
