/**
 * Reads a terminal. A pump thread reads it and collects output, which is taken into segments here.
 *
 * It takes once per turn of the event loop, so that a flooded terminal does not starve others.
 */

import { closePump, drainPump, openPump, type ProgramFds, type Pump, pausePump, takePump } from "../native/addon.ts";
import { mostToDrain, type OutputReader, type OutputReaderOptions } from "./output-reader.ts";
import { ReadSegments } from "./read-segments.ts";

/** As much as the pump collects before it calls. */
const largestSegment = 256 * 1024;

export class TerminalReader implements OutputReader {
	readonly #options: Omit<OutputReaderOptions, "clock">;
	readonly #pump: Pump;
	readonly #segments = new ReadSegments(largestSegment);
	#isPaused = false;
	/** Whether the pump has called since output was last taken. */
	#isReady = false;
	#isEnded = false;
	#isCutShort = false;

	/** Takes ownership of the descriptors. */
	constructor(terminal: Pick<ProgramFds, "output" | "wake">, options: Omit<OutputReaderOptions, "clock">) {
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
		// Not synchronously, inside the caller's resume().
		setImmediate(() => this.#take());
	}

	catchUp(): void {
		if (!this.#isPaused) this.#drain();
	}

	/** Returns true if no output can follow. */
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
		const { stream, report } = this.#options;
		report({ kind: "output", stream, bytes: this.#segments.handOut() });
	}
}
