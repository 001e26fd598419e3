/** Sends the outbox over one connection after the other, as far as each server lets it. */

import type { ClientFrame } from "../protocol/frames.ts";
import type { ClientMessage } from "../protocol/socket.ts";
import type { HawserError } from "./error.ts";
import type { Outbox } from "./outbox.ts";

/** How long to wait with sending again what the server had no room for, and what it has not answered. */
const CROWDED_MS = 50;
const UNANSWERED_MS = 5_000;

type Send = (message: ClientFrame | ClientMessage) => void;

export class InputFlow {
	readonly #outbox: Outbox;
	readonly #onOver: (error: HawserError) => void;
	#send: Send | undefined;
	/** Where the server goes on, and the positions that were sent from there on. */
	#next = 0;
	#sent: number[] = [];
	/** Refusals still to come for what was sent after a refused act: they say nothing new. */
	#echoes = 0;
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
		this.#echoes = 0;
		this.#stopTimer();
	}

	pump(): void {
		const send = this.#send;
		if (!send || this.#isWaiting || this.#echoes > 0) return;
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
		// An answer is progress; only a silence, or a server without room, is a reason to send again.
		if (!this.#isWaiting) this.#stopTimer();
		this.pump();
	}

	refused(error: HawserError, position: number): void {
		if (this.#echoes > 0) {
			this.#echoes--;
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
				// It had no room for all of it, or found a hole after what it had no room for.
				this.#stopTimer();
				this.#isWaiting = true;
				this.#again(CROWDED_MS);
				break;
			default:
				this.#echoes = this.#sent.filter((sent) => sent > position).length;
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
