/** Input over a WebSocket: acts are offered to the session one after the other, and receipts say how far it came. */

import type { Act } from "../../../core/act.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import type { InputReceipt } from "../../../protocol/acts.ts";
import type { Traffic } from "../metrics.ts";
import type { SocketControl } from "./control.ts";
import type { SocketLimits } from "./limits.ts";
import type { Wire } from "./wire.ts";

type SocketInputOptions = {
	readonly wire: Wire;
	readonly limits: SocketLimits;
	readonly traffic: Traffic;
	readonly control: SocketControl;
	readonly stream: string;
	/** As it was when the connection began. */
	readonly receipt: InputReceipt;
	/** Why this connection may not write, if so. */
	readonly refusal: SessionError | undefined;
	readonly acts: (how: { readonly isTyped: boolean }) => void;
	readonly fail: (error: unknown) => void;
};

type Job = { readonly bytes: number; readonly run: () => Promise<void> };

export class SocketInput {
	readonly #session: Session;
	readonly #options: SocketInputOptions;
	#jobs: Job[] = [];
	#waitingBytes = 0;
	#isRunning = false;
	/** As far as the client was told. */
	#receipt: InputReceipt;

	constructor(session: Session, options: SocketInputOptions) {
		this.#session = session;
		this.#options = options;
		this.#receipt = options.receipt;
	}

	/** Whether this connection may write at all. */
	get isAllowed(): boolean {
		return this.#options.refusal === undefined;
	}

	/**
	 * Does something to the process in its turn. Nothing is remembered of what is refused or does not fit:
	 * the receipt, or the error, says where the client must go on.
	 */
	act(act: Act, position: number): void {
		const bytes = act.kind === "write" ? act.bytes.byteLength : 1;
		const refusal = this.#options.refusal ?? this.#crowded(bytes);
		if (refusal) this.#refuse(refusal, position);
		else {
			this.#options.acts({ isTyped: act.kind === "write" });
			this.#enqueue(bytes, () => this.#offer(act, position));
		}
	}

	/** Asks for control, or gives it back, in order with the acts around it. */
	control(change: () => Promise<void>): void {
		const refusal = this.#options.refusal ?? this.#crowded(1);
		if (refusal) this.#refuse(refusal);
		else {
			this.#options.acts({ isTyped: false });
			this.#enqueue(1, () => change().catch((error: unknown) => this.#refuse(error)));
		}
	}

	/** Types something else in its turn, of about so many bytes; why it may not, if so. What comes after it waits for it. */
	inTurn(bytes: number, run: () => Promise<void>): SessionError | undefined {
		const refusal = this.#options.refusal ?? this.#crowded(bytes);
		if (refusal) return refusal;
		this.#options.acts({ isTyped: true });
		this.#enqueue(bytes, run);
		return undefined;
	}

	/** Sends a receipt whenever the kernel took more, until nothing can be written any more. */
	async watch(): Promise<void> {
		const { stream, wire } = this.#options;
		for await (const receipt of this.#session.receipts(stream, wire.ended)) {
			if (receipt.written > this.#receipt.written) this.#acknowledge(receipt);
		}
	}

	#crowded(bytes: number): SessionError | undefined {
		const { waitingBytes, waitingActs } = this.#options.limits;
		if (this.#waitingBytes + bytes <= waitingBytes && this.#jobs.length < waitingActs) return undefined;
		return new SessionError("limit_exceeded", "more input at a time than the window allows");
	}

	#enqueue(bytes: number, run: Job["run"]): void {
		this.#waitingBytes += bytes;
		this.#jobs.push({ bytes, run });
		if (this.#isRunning) return;
		this.#isRunning = true;
		this.#runAll().catch(this.#options.fail);
	}

	async #runAll(): Promise<void> {
		try {
			for (let job = this.#jobs.shift(); job; job = this.#jobs.shift()) {
				if (this.#options.wire.ended.aborted) return;
				await job.run();
				this.#waitingBytes -= job.bytes;
			}
		} finally {
			this.#isRunning = false;
		}
	}

	async #offer(act: Act, position: number): Promise<void> {
		const { control, stream, traffic } = this.#options;
		const { fence } = control;
		const before = this.#receipt.next;
		try {
			const receipt = await this.#session.act(act, {
				origin: { stream, position },
				...(fence === undefined ? {} : { fence }),
			});
			traffic.bytesIn += act.kind === "write" ? Math.max(0, receipt.next - before) : 0;
			this.#acknowledge(receipt);
		} catch (error) {
			this.#refuse(error, await this.#wanted(position));
		}
	}

	/** Where a refused act must go on: at its own place, unless the stream never came that far. */
	async #wanted(position: number): Promise<number> {
		const receipt = await this.#session.receipt(this.#options.stream).catch(() => undefined);
		return Math.min(position, receipt?.next ?? position);
	}

	#acknowledge(receipt: InputReceipt): void {
		// Two answers may overtake each other; a receipt never goes back.
		this.#receipt = {
			next: Math.max(this.#receipt.next, receipt.next),
			written: Math.max(this.#receipt.written, receipt.written),
		};
		this.#options.wire.receipt(this.#receipt.next, this.#receipt.written);
	}

	#refuse(thrown: unknown, position?: number): void {
		const error = SessionError.from(thrown);
		if (error.code === "internal") this.#options.fail(thrown);
		const { code, message, hint } = error;
		this.#options.wire.say({
			type: "error",
			code,
			message,
			...(hint === undefined ? {} : { hint }),
			...(position === undefined ? {} : { position }),
		});
	}
}
