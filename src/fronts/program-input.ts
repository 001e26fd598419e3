/**
 * What a client does to its program: one act after the other, each byte once.
 *
 * The session takes no more than its window holds beyond what the kernel took; the rest waits here, and
 * once too much waits here it stays with the client, so that a program that does not read costs a bound.
 */

import type { Act, Receipt } from "../core/act.ts";
import { SessionError } from "../core/errors.ts";
import { unitsOf } from "../core/input.ts";
import { offer } from "../core/offer.ts";
import type { Session } from "../core/session.ts";
import { isNotApproved } from "./not-approved.ts";

/** What may wait here until nothing more is read from the client; one message may go beyond. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** What an act costs besides its bytes, so that many small ones count. */
const ACT_BYTES = 256;

/** Where a client's input comes from. */
export type InputSource = {
	/** Aborted when the client has gone. */
	readonly ended: AbortSignal;
	/** Takes nothing more for now. */
	pause(): void;
	resume(): void;
};

type ProgramInputOptions = {
	readonly session: Session;
	readonly wire: InputSource;
	/** The same for all who come one after the other, so that they share one window and none can be crowded out. */
	readonly stream: string;
	/** Where that stream stands. */
	readonly receipt: Receipt;
	/** The lease under which everything is done. */
	readonly fence: number | undefined;
	/** Bytes could not be written, and none will be from now on. Called once. */
	readonly onFailure: (reason: string) => void;
	/** Bytes were left out that nobody approved; those that come after them are written. */
	readonly onNotApproved: (reason: string) => void;
};

export class ProgramInput {
	readonly #options: ProgramInputOptions;
	readonly #waiting: Act[] = [];
	#waitingBytes = 0;
	#running: Promise<void> | undefined;
	/** Where the stream goes on, and how far it was offered. */
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

	add(act: Act): void {
		this.#waiting.push(act);
		this.#waitingBytes += costOf(act);
		if (this.#waitingBytes > MAX_WAITING_BYTES) this.#options.wire.pause();
		this.#running ??= this.#run();
	}

	/** Resolves when nothing more is done here, once the connection has ended. */
	async finished(): Promise<void> {
		await Promise.all([this.#running, this.#watching]);
	}

	async #run(): Promise<void> {
		const { wire } = this.#options;
		// To the last one, even when the client has gone: it may have said what it wanted and left.
		for (let act = this.#waiting.shift(); act; act = this.#waiting.shift()) {
			try {
				if (!this.#hasFailed) await this.#offer(act);
			} catch (error) {
				this.#offered = this.#position;
				// A size or a signal for a program that is over is meant for nobody.
				if (act.kind === "write") this.#notWritten(error);
			}
			this.#waitingBytes -= costOf(act);
			if (this.#waitingBytes <= MAX_WAITING_BYTES) wire.resume();
		}
		this.#running = undefined;
	}

	/** Gives an act to the session, in as many parts as its window takes. */
	async #offer(act: Act): Promise<void> {
		const { session, stream, fence, wire } = this.#options;
		const origin = { stream, position: this.#position };
		this.#offered = this.#position + unitsOf(act);
		const { next } = await offer(session, act, { origin, fence, until: "accepted", signal: wire.ended });
		this.#position = Math.min(next, this.#offered);
		// Nobody waits for a program that does not read, once the client has gone.
		if (next < this.#offered) this.#waiting.length = 0;
	}

	/** What was accepted may still fail to be written: the stream then stands still before its end. */
	async #watch(): Promise<void> {
		const { session, stream, wire, receipt } = this.#options;
		let { written } = receipt;
		try {
			for await (const now of session.receipts(stream, wire.ended)) written = now.written;
		} catch {
			// The session can't be reached, which its output tells better.
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

function costOf(act: Act): number {
	return ACT_BYTES + unitsOf(act);
}
