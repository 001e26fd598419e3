/** Sends the outbox over successive connections, within each server's limits. */

import type { ClientFrame } from "../../api/frames.ts";
import type { ClientMessage } from "../../api/types.ts";
import type { HawserError } from "../errors.ts";
import type { Outbox } from "./outbox.ts";

/** Delay before resending what the server had no space for, and what it has not acknowledged. */
const RETRY_FULL_MS = 50;
const UNANSWERED_MS = 5_000;

type Send = (message: ClientFrame | ClientMessage) => void;

export class InputSender {
	readonly #outbox: Outbox;
	readonly #onOver: (error: HawserError) => void;
	#send: Send | undefined;
	/** The next position the server expects, and the positions sent from there on. */
	#next = 0;
	#sent: number[] = [];
	/** Refusals still expected for input sent after a refused action. They carry no news. */
	#staleErrors = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isWaiting = false;

	constructor(outbox: Outbox, onOver: (error: HawserError) => void) {
		this.#outbox = outbox;
		this.#onOver = onOver;
	}

	get isOpen(): boolean {
		return this.#send !== undefined;
	}

	open(input: { readonly next: number; readonly written: number; readonly window: number }, send: Send): void {
		this.#outbox.open(input);
		this.#send = send;
		this.#next = input.next;
		this.pump();
	}

	close(): void {
		this.#send = undefined;
		this.#outbox.close();
		this.#sent = [];
		this.#staleErrors = 0;
		this.#stopTimer();
	}

	pump(): void {
		const send = this.#send;
		if (!send || this.#isWaiting || this.#staleErrors > 0) return;
		for (let piece = this.#outbox.take(); piece; piece = this.#outbox.take()) {
			this.#sent.push(piece.position);
			const { position } = piece;
			send("act" in piece ? { ...piece.act, position } : { kind: "input", position, bytes: piece.bytes });
		}
		if (this.#timer === undefined && this.#next < this.#outbox.sent) this.#again(UNANSWERED_MS);
	}

	receipt(receipt: { readonly next: number; readonly written: number }): void {
		this.#outbox.receipt(receipt);
		this.#next = Math.max(this.#next, receipt.next);
		const unanswered = this.#sent.findIndex((position) => position >= this.#next);
		this.#sent.splice(0, unanswered < 0 ? this.#sent.length : unanswered);
		// A receipt is progress. Resend only after silence, or if the server had no space.
		if (!this.#isWaiting) this.#stopTimer();
		this.pump();
	}

	refused(error: HawserError, position: number): void {
		if (this.#staleErrors > 0) {
			this.#staleErrors--;
			this.pump();
			return;
		}
		switch (error.code) {
			case "session_closed":
				this.#onOver(error);
				break;
			case "invalid_argument":
			case "limit_exceeded":
			case "node_unavailable":
				// The server had no space for all of it, or found a gap after what it dropped.
				this.#stopTimer();
				this.#isWaiting = true;
				this.#again(RETRY_FULL_MS);
				break;
			default:
				this.#staleErrors = this.#sent.filter((sent) => sent > position).length;
				this.#sent = [];
				this.#outbox.refuse(position, error);
				this.pump();
		}
	}

	#again(ms: number): void {
		this.#timer = setTimeout(() => {
			this.#stopTimer();
			this.#sent = [];
			this.#outbox.rewind(this.#next);
			this.pump();
		}, ms);
	}

	#stopTimer(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#isWaiting = false;
	}
}
