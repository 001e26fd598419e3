/** The output of a command as `hawser exec` prints it: in order, and up to `--max-output`. */

import type { ExecOutput } from "../../client/index.ts";

export class ShownOutput {
	readonly #max: number;
	readonly #isCollected: boolean;
	readonly #collected: Uint8Array[] = [];
	#shown = 0;
	#leftOut = 0;
	#missing = 0;

	/**
	 * `isCollected` keeps the printed output for the JSON result. Without a maximum it is bounded by the session's log.
	 */
	constructor(max: number, isCollected: boolean) {
		this.#max = max;
		this.#isCollected = isCollected;
	}

	/** Bytes beyond the maximum. */
	get leftOut(): number {
		return this.#leftOut;
	}

	/** The part of the next bytes to print. */
	take({ bytes, omitted }: Pick<ExecOutput, "bytes" | "omitted">): Uint8Array {
		const shown = bytes.subarray(0, this.#max - this.#shown);
		this.#shown += shown.byteLength;
		this.#leftOut += bytes.byteLength - shown.byteLength;
		this.#missing += omitted;
		if (this.#isCollected) this.#collected.push(shown);
		return shown;
	}

	/** All printed output, and the number of bytes left out. */
	collected(): { readonly text: string; readonly omitted: number } {
		const text = new TextDecoder().decode(Buffer.concat(this.#collected));
		return { text, omitted: this.#leftOut + this.#missing };
	}
}
