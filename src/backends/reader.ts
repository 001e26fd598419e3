/**
 * Reads a terminal or a pipe into segments and reports what came, without copying a byte.
 *
 * One read per turn of the loop: a loop that drained a terminal in the hot path would starve everybody else.
 * Small output is reported at once; under load, reads that lie side by side become one chunk. At the end
 * comes a synchronous drain, because libuv 1.46 takes a short read together with a hang-up for the end and
 * leaves the rest in the kernel (libuv #4992).
 */

import { readSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { ReadStream } from "node:tty";
import type { Clock } from "../core/clock.ts";

/** An idle session should cost next to nothing. */
const firstSegment = 4 * 1024;
const largestSegment = { pty: 64 * 1024, pipe: 256 * 1024 } as const;

/** Up to this many bytes per window are somebody typing, and go out at once. Chosen by measurement. */
const promptBytes = 4 * 1024;
const windowMs = 3;
/** Enough to make the cost per chunk vanish. */
const fullChunk = 64 * 1024;

/** More than any kernel buffer holds; others may keep writing while we drain. */
const mostToDrain = 1024 * 1024;

export type ReaderOptions = {
	/** Becomes the reader's own. */
	readonly fd: number;
	readonly kind: "pty" | "pipe";
	readonly clock: Clock;
	readonly onBytes: (bytes: Uint8Array) => void;
	/** Called once; no bytes come after it. */
	readonly onEnd: () => void;
};

export class Reader {
	readonly #options: ReaderOptions;
	readonly #stream: Socket;
	/** Bytes up to `#reported` were handed out and are never written again; up to `#filled` they wait. */
	#segment: Uint8Array = new Uint8Array(0);
	#reported = 0;
	#filled = 0;
	#windowStart = 0;
	#windowBytes = 0;
	#cancelFlush: (() => void) | undefined;
	#isEnded = false;

	constructor(options: ReaderOptions) {
		this.#options = options;
		this.#stream = this.#open();
		this.#stream.on("end", () => this.finish());
		// EIO is how a terminal ends; whatever the error, nothing more can be read.
		this.#stream.on("error", () => {});
		this.#stream.on("close", () => this.#end());
		// Not resume(): its work is done in the next tick, which would undo a pause() that came first.
		this.#stream.read(0);
	}

	get isEnded(): boolean {
		return this.#isEnded;
	}

	/** Stops reading; what was read and not yet reported still comes. */
	pause(): void {
		if (!this.#isEnded) this.#stream.pause();
	}

	resume(): void {
		if (!this.#isEnded) this.#stream.resume();
	}

	/** Reports what is waiting. */
	flush(): void {
		this.#cancelFlush?.();
		this.#cancelFlush = undefined;
		if (this.#filled === this.#reported) return;
		const bytes = this.#segment.subarray(this.#reported, this.#filled);
		this.#reported = this.#filled;
		this.#options.onBytes(bytes);
	}

	/** Reports what the kernel holds now, though more may come: what a program wrote before its end comes before its exit. */
	catchUp(): void {
		if (this.#isEnded) return;
		this.flush();
		// Into memory of its own: the stream goes on, and will fill the free end of the segment.
		for (let left = mostToDrain; left > 0; ) {
			const bytes = Buffer.allocUnsafeSlow(fullChunk);
			const length = readNow(this.#options.fd, bytes);
			if (length === 0) return;
			this.#options.onBytes(bytes.subarray(0, length));
			left -= length;
		}
	}

	/** Reads what the kernel still holds and ends, even if others could still write. */
	finish(): void {
		if (this.#isEnded) return;
		this.#stream.pause();
		// Destroyed by an error and not yet told so: the number may be another's by now, and nothing was left.
		if (!this.#stream.destroyed) this.#drain();
		this.#end();
		this.#stream.destroy();
	}

	#open(): Socket {
		const { fd, kind } = this.#options;
		const onread = { buffer: () => this.#tail(), callback: (length: number) => this.#take(length) };
		// Neither may close the descriptor behind our back: what libuv calls the end is not yet the end.
		const options = {
			fd,
			onread,
			autoDestroy: false,
			allowHalfOpen: true,
			readable: true,
			writable: false,
			manualStart: true,
		};
		return kind === "pty"
			? new ReadStream(fd, options as SocketConstructorOpts)
			: new Socket(options as SocketConstructorOpts);
	}

	/** The free end of the segment; a new one, twice as large, when too little is left to be worth a read. */
	#tail(): Uint8Array {
		const length = this.#segment.byteLength;
		if (length === 0 || length - this.#filled < length / 8) {
			this.flush();
			this.#segment = Buffer.allocUnsafeSlow(
				Math.min(Math.max(length * 2, firstSegment), largestSegment[this.#options.kind]),
			);
			this.#reported = this.#filled = 0;
		}
		return this.#segment.subarray(this.#filled);
	}

	#take(length: number): boolean {
		this.#filled += length;
		const now = performance.now();
		if (now - this.#windowStart >= windowMs) {
			this.#windowStart = now;
			this.#windowBytes = 0;
		}
		this.#windowBytes += length;
		const waiting = this.#filled - this.#reported;
		if ((waiting === length && this.#windowBytes <= promptBytes) || waiting >= fullChunk) this.flush();
		else this.#cancelFlush ??= this.#options.clock.after(windowMs, () => this.flush());
		return true;
	}

	#drain(): void {
		for (let left = mostToDrain; left > 0; ) {
			const length = readNow(this.#options.fd, this.#tail());
			if (length === 0) return;
			this.#filled += length;
			left -= length;
		}
	}

	#end(): void {
		if (this.#isEnded) return;
		this.flush();
		this.#isEnded = true;
		this.#segment = new Uint8Array(0);
		this.#options.onEnd();
	}
}

/** Reads without waiting; nothing when there is nothing, or never will be again. */
function readNow(fd: number, bytes: Uint8Array): number {
	try {
		return readSync(fd, bytes);
	} catch {
		// EIO: a terminal without a program. EAGAIN: empty, though somebody still holds the other side.
		return 0;
	}
}
