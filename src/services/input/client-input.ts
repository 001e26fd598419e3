/**
 * Applies a client's input in order, each byte once.
 *
 * The session accepts one window beyond what the kernel has taken. The rest is queued here up to a limit; above it, the
 * client's connection is not read, so that a program that does not read its input costs bounded memory.
 */

import { SessionError } from "../../core/errors.ts";
import type { Action, Receipt } from "../../core/input/action.ts";
import { unitsOf } from "../../core/input/input-queue.ts";
import { isNotApproved } from "../../core/policy/not-approved.ts";
import { sendInParts } from "../../core/session/send-input.ts";
import type { Session } from "../../core/session/session.ts";

/** Queue limit above which the client is no longer read. One message may exceed it. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Cost of an action in addition to its bytes, so that many small ones count. */
const ACT_BYTES = 256;

/** The connection from which a client's input comes. */
export type InputSource = {
	/** Aborts when the client disconnects. */
	readonly ended: AbortSignal;
	/** Stops reading from the client. */
	pause(): void;
	resume(): void;
};

type ProgramInputOptions = {
	readonly session: Session;
	readonly wire: InputSource;
	/** One stream for successive clients, so that they share a window. */
	readonly stream: string;
	/** Current position of that stream. */
	readonly receipt: Receipt;
	/** Fence of the lease for all input. */
	readonly fence: number | undefined;
	/** Called once when bytes could not be written; none are written after that. */
	readonly onFailure: (reason: string) => void;
	/** Called when bytes were dropped because they were not approved. Later bytes are still written. */
	readonly onNotApproved: (reason: string) => void;
};

export class ClientInput {
	readonly #options: ProgramInputOptions;
	readonly #waiting: Action[] = [];
	#waitingBytes = 0;
	#running: Promise<void> | undefined;
	/** Next position of the stream, and the end of the bytes sent to the session. */
	#position: number;
	#offered: number;
	#hasFailed = false;
	readonly #watching: Promise<void>;

	constructor(options: ProgramInputOptions) {
		this.#options = options;
		this.#position = options.receipt.next;
		this.#offered = options.receipt.next;
		this.#watching = this.#watch();
	}

	add(act: Action): void {
		this.#waiting.push(act);
		this.#waitingBytes += costOf(act);
		if (this.#waitingBytes > MAX_WAITING_BYTES) this.#options.wire.pause();
		this.#running ??= this.#run();
	}

	/** Resolves once the connection has ended and all input is handled. */
	async finished(): Promise<void> {
		await Promise.all([this.#running, this.#watching]);
	}

	async #run(): Promise<void> {
		const { wire } = this.#options;
		// Queued input is still applied after the client disconnects: it may have sent its input and left.
		for (let act = this.#waiting.shift(); act; act = this.#waiting.shift()) {
			try {
				if (!this.#hasFailed) await this.#offer(act);
			} catch (error) {
				this.#offered = this.#position;
				// A resize or signal after the program's end has no effect.
				if (act.kind === "write") this.#notWritten(error);
			}
			this.#waitingBytes -= costOf(act);
			if (this.#waitingBytes <= MAX_WAITING_BYTES) wire.resume();
		}
		this.#running = undefined;
	}

	/** Sends an action to the session in as many parts as its window requires. */
	async #offer(act: Action): Promise<void> {
		const { session, stream, fence, wire } = this.#options;
		const origin = { stream, position: this.#position };
		this.#offered = this.#position + unitsOf(act);
		const { next } = await sendInParts(session, act, { origin, fence, until: "accepted", signal: wire.ended });
		this.#position = Math.min(next, this.#offered);
		// Once the client is gone, don't wait for a program that does not read.
		if (next < this.#offered) this.#waiting.length = 0;
	}

	/** Accepted input may still fail to be written. The stream then stops before its end. */
	async #watch(): Promise<void> {
		const { session, stream, wire, receipt } = this.#options;
		let { written } = receipt;
		try {
			for await (const now of session.receipts(stream, wire.ended)) written = now.written;
		} catch {
			// If the session can't be reached, its output reports that.
			return;
		}
		if (written < this.#offered) this.#fail("the program takes no more input");
	}

	#notWritten(error: unknown): void {
		const { message } = SessionError.from(error);
		if (isNotApproved(error)) this.#options.onNotApproved(message);
		else this.#fail(message);
	}

	#fail(reason: string): void {
		if (this.#hasFailed || this.#options.wire.ended.aborted) return;
		this.#hasFailed = true;
		this.#options.onFailure(reason);
	}
}

function costOf(act: Action): number {
	return ACT_BYTES + unitsOf(act);
}
