/**
 * Notices that a full-screen program has written much since the last screen snapshot. The emulator runs in another
 * process.
 */

import { Change } from "../async/change.ts";

/**
 * Output bytes that count as much. Rendering them takes some milliseconds.
 * @limit output of a full-screen program without a checkpoint | it is rendered in the background
 */
const MUCH_BYTES = 256 * 1024;

type UndrawnOptions = {
	/** The end of the output. */
	readonly end: () => number;
	readonly alternate: () => { readonly isOn: boolean; readonly since: number };
	readonly isEnded: () => boolean;
};

export class RedrawTrigger {
	readonly #options: UndrawnOptions;
	readonly #change = new Change();

	constructor(options: UndrawnOptions) {
		this.#options = options;
	}

	/** Called after new output, and at the end. */
	note(): void {
		if (this.#options.alternate().isOn || this.#options.isEnded()) this.#change.happen();
	}

	/** Resolves with true when much was written since an offset, or with false at the end or when the signal aborts. */
	async untilMuch(after: number, signal?: AbortSignal): Promise<boolean> {
		const { end, alternate, isEnded } = this.#options;
		while (!isEnded() && !signal?.aborted) {
			const { isOn, since } = alternate();
			if (isOn && end() - Math.max(since, after) >= MUCH_BYTES) return true;
			await this.#change.wait(signal);
		}
		return false;
	}
}
