/**
 * Writes to a terminal or a pipe without ever blocking the loop or spinning: as much as the kernel takes now,
 * the rest when it says that there is room. It owns its descriptor and closes it only with no wait on it, so
 * no byte can reach whoever gets the number next.
 */

import { closeSync, writeSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { poll } from "../native/addon.ts";

/** The wait after the kernel said "room" and then took nothing: a terminal may do that while it moves its buffers. */
const firstRetryMs = 1;
const longestRetryMs = 50;

/** The most written in one go, so that a greedy reader of a pipe can't hold the loop. */
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
	/** How much of the first in the queue the kernel took. */
	#taken = 0;
	#cancelWait: (() => void) | undefined;
	#retryMs = 0;
	/** Why nothing can be written any more. */
	#refusal: string | undefined;

	/** Takes over the descriptor; -1 stands for an input that never was. */
	constructor(fd: number, clock: Clock) {
		this.#fd = fd;
		this.#clock = clock;
		if (fd < 0) this.#refusal = "its input is closed";
	}

	/** What it writes to; -1 once that is closed. Valid in this turn. */
	get fd(): number {
		return this.#fd;
	}

	/** Resolves when the kernel took every byte. Writes are carried out one after the other. */
	write(bytes: Uint8Array): Promise<void> {
		return new Promise((resolve, reject) => {
			if (this.#refusal !== undefined) return reject(this.#gone());
			this.#queue.push({ bytes, resolve, reject });
			if (this.#queue.length === 1) this.#pump();
		});
	}

	/** Closes the descriptor after what is still to be written; resolves then, and also when it is closed already. */
	async end(): Promise<void> {
		if (this.#queue.length > 0) await this.write(new Uint8Array(0));
		this.close("its input was ended");
	}

	/** Closes the descriptor at once; writes that still wait are rejected. */
	close(because: string): void {
		if (this.#fd < 0) return;
		this.refuse(because);
		closeSync(this.#fd);
		this.#fd = -1;
	}

	/** Rejects what waits and what comes. The descriptor stays open: the terminal is still asked about itself through it. */
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

	/** Writes what the kernel takes now; a word when it takes nothing. */
	#try(bytes: Uint8Array): number | "full" | "gone" {
		try {
			return writeSync(this.#fd, bytes, this.#taken) || "full";
		} catch (thrown) {
			// Anything but EAGAIN (EIO, EPIPE) says that nobody can read it any more.
			return (thrown as NodeJS.ErrnoException).code === "EAGAIN" ? "full" : "gone";
		}
	}

	#stop(because: "later" | "full" | "gone"): void {
		if (because === "later") this.#waitForTurn();
		else if (because === "full") this.#waitForRoom();
		else this.refuse("the program no longer reads its input");
	}

	#waitForTurn(): void {
		const turn = setImmediate(() => this.#goOn());
		this.#cancelWait = () => clearImmediate(turn);
	}

	#waitForRoom(): void {
		const wait = () => {
			this.#cancelWait = poll(this.#fd, "write", () => this.#goOn(), { hold: true });
		};
		if (this.#retryMs === 0) wait();
		else this.#cancelWait = this.#clock.after(this.#retryMs, wait);
		this.#retryMs = Math.min(Math.max(this.#retryMs * 2, firstRetryMs), longestRetryMs);
	}

	#goOn(): void {
		this.#cancelWait = undefined;
		this.#pump();
	}
}
