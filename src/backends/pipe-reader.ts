/**
 * Reads a pipe into segments and reports them without copying.
 *
 * It reads once per turn of the event loop, so that a busy pipe does not starve others. Small output is reported at
 * once. Under load, adjacent reads are merged into one chunk. The end is drained synchronously, because libuv 1.46
 * takes a short read with a hang-up for the end and leaves the rest in the kernel (libuv #4992).
 */

import { readSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { mostToDrain, type OutputReader, type OutputReaderOptions } from "./output-reader.ts";
import { ReadSegments } from "./read-segments.ts";

const largestSegment = 256 * 1024;

/** Up to this many bytes per window are interactive output and are reported at once. Chosen by measurement. */
const promptBytes = 4 * 1024;
const windowMs = 3;
/** Large enough that the cost per chunk does not matter. */
const fullChunk = 64 * 1024;

export class PipeReader implements OutputReader {
	readonly #fd: number;
	readonly #options: OutputReaderOptions;
	readonly #stream: Socket;
	readonly #segments = new ReadSegments(largestSegment);
	#windowStart = 0;
	#windowBytes = 0;
	#cancelFlush: (() => void) | undefined;
	#isEnded = false;
	#isCutShort = false;

	/** Takes ownership of the descriptor. */
	constructor(fd: number, options: OutputReaderOptions) {
		this.#fd = fd;
		this.#options = options;
		this.#stream = this.#open();
		this.#stream.on("end", () => this.finish());
		// After any error nothing more can be read.
		this.#stream.on("error", () => {});
		this.#stream.on("close", () => this.#end());
		// Not resume(): it takes effect in the next tick and would undo an earlier pause().
		this.#stream.read(0);
	}

	get isEnded(): boolean {
		return this.#isEnded;
	}

	get isCutShort(): boolean {
		return this.#isCutShort;
	}

	pause(): void {
		if (!this.#isEnded) this.#stream.pause();
	}

	resume(): void {
		if (!this.#isEnded) this.#stream.resume();
	}

	catchUp(): void {
		if (this.#isEnded) return;
		this.#flush();
		if (this.#stream.isPaused()) return;
		// Use a new buffer: the stream continues and will fill the free end of the segment.
		for (let left = mostToDrain; left > 0; ) {
			const bytes = Buffer.allocUnsafeSlow(fullChunk);
			const length = readNow(this.#fd, bytes);
			if (length === 0 || length === "empty") return;
			this.#report(bytes.subarray(0, length));
			left -= length;
		}
	}

	finish(): void {
		if (this.#isEnded) return;
		this.#stream.pause();
		// If an error destroyed the stream, the descriptor may already be reused, and nothing was left to read.
		if (!this.#stream.destroyed) this.#drain();
		this.#end();
		this.#stream.destroy();
	}

	#open(): Socket {
		const onread = { buffer: () => this.#space(), callback: (length: number) => this.#take(length) };
		// Neither option may close the descriptor for us: what libuv reports as the end may not be the end.
		const options = {
			fd: this.#fd,
			onread,
			autoDestroy: false,
			allowHalfOpen: true,
			readable: true,
			writable: false,
			manualStart: true,
		};
		return new Socket(options as SocketConstructorOpts);
	}

	/** Reports the bytes that wait to be merged. */
	#flush(): void {
		this.#cancelFlush?.();
		this.#cancelFlush = undefined;
		if (this.#segments.waiting > 0) this.#report(this.#segments.handOut());
	}

	#report(bytes: Uint8Array): void {
		const { stream, report } = this.#options;
		report({ kind: "output", stream, bytes });
	}

	#space(): Uint8Array {
		if (this.#segments.isUsedUp) this.#flush();
		return this.#segments.space();
	}

	#take(length: number): boolean {
		this.#segments.fill(length);
		const now = performance.now();
		if (now - this.#windowStart >= windowMs) {
			this.#windowStart = now;
			this.#windowBytes = 0;
		}
		this.#windowBytes += length;
		const { waiting } = this.#segments;
		if ((waiting === length && this.#windowBytes <= promptBytes) || waiting >= fullChunk) this.#flush();
		else this.#cancelFlush ??= this.#options.clock.after(windowMs, () => this.#flush());
		return true;
	}

	#drain(): void {
		this.#isCutShort = true;
		for (let left = mostToDrain; left > 0; ) {
			const length = readNow(this.#fd, this.#space());
			if (length === 0) this.#isCutShort = false;
			if (length === 0 || length === "empty") return;
			this.#segments.fill(length);
			left -= length;
		}
	}

	#end(): void {
		if (this.#isEnded) return;
		this.#flush();
		this.#isEnded = true;
		this.#options.onEnd();
	}
}

/** Reads without waiting. Returns zero at the end, or `empty` if there is nothing now. */
function readNow(fd: number, bytes: Uint8Array): number | "empty" {
	try {
		return readSync(fd, bytes);
	} catch {
		// EAGAIN: another process still holds the other end.
		return "empty";
	}
}
