/**
 * Reads a terminal: a pump, which is a thread, reads it and gathers what comes; we take that into segments.
 *
 * One take per turn of the loop, so that a terminal that is flooded starves nobody.
 */

import { closePump, drainPump, type Ends, openPump, type Pump, pausePump, takePump } from "../native/addon.ts";
import { mostToDrain, type OutputReader, type OutputReaderOptions } from "./output-reader.ts";
import { Segments } from "./segments.ts";

/** As much as the pump gathers before it says so. */
const largestSegment = 256 * 1024;

export class TerminalReader implements OutputReader {
	readonly #options: Pick<OutputReaderOptions, "onBytes" | "onEnd">;
	readonly #pump: Pump;
	readonly #segments = new Segments(largestSegment);
	#isPaused = false;
	/** Whether the pump has said so and we have not taken anything since. */
	#isReady = false;
	#isEnded = false;
	#isCutShort = false;

	/** The descriptors become the reader's own. */
	constructor(terminal: Pick<Ends, "output" | "wake">, options: Pick<OutputReaderOptions, "onBytes" | "onEnd">) {
		this.#options = options;
		this.#pump = openPump(terminal, () => {
			this.#isReady = true;
			this.#take();
		});
	}

	get isEnded(): boolean {
		return this.#isEnded;
	}

	get isCutShort(): boolean {
		return this.#isCutShort;
	}

	pause(): void {
		if (this.#isEnded) return;
		this.#isPaused = true;
		pausePump(this.#pump, true);
	}

	resume(): void {
		if (this.#isEnded) return;
		this.#isPaused = false;
		pausePump(this.#pump, false);
		// Not within the call of somebody who only wanted us to go on.
		setImmediate(() => this.#take());
	}

	catchUp(): void {
		if (!this.#isPaused) this.#drain();
	}

	/** Whether nothing will ever come again. */
	#drain(): boolean {
		for (let left = mostToDrain; left > 0 && !this.#isEnded; ) {
			const length = drainPump(this.#pump, this.#segments.space());
			if (length <= 0) return length < 0;
			this.#report(length);
			left -= length;
		}
		return false;
	}

	finish(): void {
		if (this.#isEnded) return;
		this.#isCutShort = !this.#drain();
		this.#isEnded = true;
		closePump(this.#pump);
		this.#options.onEnd();
	}

	#take(): void {
		if (this.#isPaused || this.#isEnded || !this.#isReady) return;
		this.#isReady = false;
		const length = takePump(this.#pump, this.#segments.space());
		if (length > 0) this.#report(length);
		else if (length < 0) this.finish();
	}

	#report(length: number): void {
		this.#segments.fill(length);
		this.#options.onBytes(this.#segments.handOut());
	}
}
