/**
 * Writes to a terminal or a pipe without blocking or spinning: as much as the kernel takes now, and the rest when it
 * has room. It owns its descriptor and closes it only when no wait is pending on it, so no byte can reach a file that
 * gets the same number.
 */

import { closeSync, writeSync } from "node:fs";
import type { Clock } from "../core/async/clock.ts";
import { SessionError } from "../core/errors.ts";
import { poll } from "../native/addon.ts";

/** Delay after the kernel signaled room but took nothing. A terminal may do that while it moves its buffers. */
const firstRetryMs = 1;
const longestRetryMs = 50;

/** Bytes written per turn, so that a fast reader of a pipe can't block the event loop. */
const turnBytes = 256 * 1024;

type Pending = {
	readonly bytes: Uint8Array;
	readonly resolve: () => void;
	readonly reject: (error: SessionError) => void;
};

export class Writer {
	readonly #clock: Clock;
	#fd: number;
	readonly #queue: Pending[] = [];
	/** Bytes of the first entry that the kernel took. */
	#taken = 0;
	#cancelWait: (() => void) | undefined;
	#retryMs = 0;
	/** Set when nothing can be written any more. */
	#refusal: string | undefined;

	/** Takes ownership of the descriptor. -1 means that there is no input. */
	constructor(fd: number, clock: Clock) {
		this.#fd = fd;
		this.#clock = clock;
		if (fd < 0) this.#refusal = "its input is closed";
	}

	/** The descriptor; -1 once it is closed. Valid in this turn. */
	get fd(): number {
		return this.#fd;
	}

	/**
	 * Returns undefined if the kernel took every byte at once; otherwise resolves when it did. Writes are done in order.
	 */
	write(bytes: Uint8Array): Promise<void> | void {
		if (this.#refusal !== undefined) return Promise.reject(this.#gone());
		let isTaken = false;
		const taken = new Promise<void>((resolve, reject) => {
			const done = () => {
				isTaken = true;
				resolve();
			};
			this.#queue.push({ bytes, resolve: done, reject });
			if (this.#queue.length === 1) this.#pump();
		});
		if (!isTaken) return taken;
	}

	/** Closes the descriptor after all pending writes. Resolves then, also if it is already closed. */
	async end(): Promise<void> {
		if (this.#queue.length > 0) await this.write(new Uint8Array(0));
		this.close("its input was ended");
	}

	/** Closes the descriptor at once and rejects pending writes. */
	close(because: string): void {
		if (this.#fd < 0) return;
		this.refuse(because);
		closeSync(this.#fd);
		this.#fd = -1;
	}

	/** Rejects pending and future writes. The descriptor stays open, because it is still used to query the terminal. */
	refuse(because: string): void {
		this.#cancelWait?.();
		this.#cancelWait = undefined;
		this.#refusal ??= because;
		for (const { reject } of this.#queue.splice(0)) reject(this.#gone());
	}

	#gone(): SessionError {
		return new SessionError("session_closed", `can't write: ${this.#refusal}`);
	}

	#pump(): void {
		let budget = turnBytes;
		for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
			while (this.#taken < first.bytes.byteLength) {
				const length = budget <= 0 ? "later" : this.#try(first.bytes);
				if (typeof length === "string") {
					this.#stop(length);
					return;
				}
				this.#taken += length;
				this.#retryMs = 0;
				budget -= length;
			}
			this.#queue.shift();
			this.#taken = 0;
			first.resolve();
		}
	}

	/** Writes what the kernel takes now. A string if it takes nothing. */
	#try(bytes: Uint8Array): number | "full" | "gone" {
		try {
			return writeSync(this.#fd, bytes, this.#taken) || "full";
		} catch (thrown) {
			// Any error except EAGAIN, such as EIO or EPIPE, means that there is no reader any more.
			return (thrown as NodeJS.ErrnoException).code === "EAGAIN" ? "full" : "gone";
		}
	}

	#stop(because: "later" | "full" | "gone"): void {
		if (because === "later") this.#waitForTurn();
		else if (because === "full") this.#waitForRoom();
		else this.refuse("the program no longer reads its input");
	}

	#waitForTurn(): void {
		const turn = setImmediate(() => this.#continue());
		this.#cancelWait = () => clearImmediate(turn);
	}

	#waitForRoom(): void {
		const wait = () => {
			this.#cancelWait = poll(this.#fd, "write", () => this.#continue(), { hold: true });
		};
		if (this.#retryMs === 0) wait();
		else this.#cancelWait = this.#clock.after(this.#retryMs, wait);
		this.#retryMs = Math.min(Math.max(this.#retryMs * 2, firstRetryMs), longestRetryMs);
	}

	#continue(): void {
		this.#cancelWait = undefined;
		this.#pump();
	}
}
