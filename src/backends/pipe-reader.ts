/**
 * Reads a pipe into segments and reports what came, without copying a byte.
 *
 * One read per turn of the loop, so that a pipe that never runs dry starves nobody. Small output is reported at
 * once; under load, reads that lie side by side become one chunk. At the end comes a synchronous drain, because
 * libuv 1.46 takes a short read together with a hang-up for the end and leaves the rest in the kernel (libuv #4992).
 */

import { readSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { mostToDrain, type OutputReader, type OutputReaderOptions } from "./output-reader.ts";
import { Segments } from "./segments.ts";

const largestSegment = 256 * 1024;

/** Up to this many bytes per window are somebody typing, and go out at once. Chosen by measurement. */
const promptBytes = 4 * 1024;
const windowMs = 3;
/** Enough to make the cost per chunk vanish. */
const fullChunk = 64 * 1024;

export class PipeReader implements OutputReader {
	readonly #fd: number;
	readonly #options: OutputReaderOptions;
	readonly #stream: Socket;
	readonly #segments = new Segments(largestSegment);
	#windowStart = 0;
	#windowBytes = 0;
	#cancelFlush: (() => void) | undefined;
	#isEnded = false;
	#isCutShort = false;

	/** The descriptor becomes the reader's own. */
	constructor(fd: number, options: OutputReaderOptions) {
		this.#fd = fd;
		this.#options = options;
		this.#stream = this.#open();
		this.#stream.on("end", () => this.finish());
		// Whatever the error, nothing more can be read.
		this.#stream.on("error", () => {});
		this.#stream.on("close", () => this.#end());
		// Not resume(): its work is done in the next tick, which would undo a pause() that came first.
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
		// Into memory of its own: the stream goes on, and will fill the free end of the segment.
		for (let left = mostToDrain; left > 0; ) {
			const bytes = Buffer.allocUnsafeSlow(fullChunk);
			const length = readNow(this.#fd, bytes);
			if (length === 0 || length === "empty") return;
			this.#options.onBytes(bytes.subarray(0, length));
			left -= length;
		}
	}

	finish(): void {
		if (this.#isEnded) return;
		this.#stream.pause();
		// Destroyed by an error and not yet told so: the number may be another's by now, and nothing was left.
		if (!this.#stream.destroyed) this.#drain();
		this.#end();
		this.#stream.destroy();
	}

	#open(): Socket {
		const onread = { buffer: () => this.#space(), callback: (length: number) => this.#take(length) };
		// Neither may close the descriptor behind our back: what libuv calls the end is not yet the end.
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

	/** Reports what was read and waits to become more. */
	#flush(): void {
		this.#cancelFlush?.();
		this.#cancelFlush = undefined;
		if (this.#segments.waiting > 0) this.#options.onBytes(this.#segments.handOut());
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

/** Reads without waiting; zero when there never will be anything again, `empty` when there is nothing now. */
function readNow(fd: number, bytes: Uint8Array): number | "empty" {
	try {
		return readSync(fd, bytes);
	} catch {
		// EAGAIN: somebody still holds the other side.
		return "empty";
	}
}
