/** Input over a WebSocket: passes actions to the session one after the other and returns receipts. */

import type { InputReceipt } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Action } from "../../../core/input/action.ts";
import type { Session } from "../../../core/session/session.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import type { SocketLimits } from "../limits.ts";
import type { SocketControl } from "./control.ts";
import type { AttachWire } from "./wire.ts";

type SocketInputOptions = {
	readonly wire: AttachWire;
	readonly limits: SocketLimits;
	readonly traffic: TrafficCounters;
	readonly control: SocketControl;
	readonly stream: string;
	/** The stream's receipt when the connection began. */
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
	/** The receipt last sent to the client. */
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
	 * Queues an action. A refused action leaves no trace: the receipt or the error says where the client must continue.
	 */
	act(act: Action, position: number): void {
		const bytes = act.kind === "write" ? act.bytes.byteLength : 1;
		const refusal = this.#options.refusal ?? this.#crowded(bytes);
		if (refusal) this.#refuse(refusal, position);
		else {
			this.#options.acts({ isTyped: act.kind === "write" });
			this.#enqueue(bytes, () => this.#offer(act, position));
		}
	}

	/** Takes or releases control, in order with the actions around it. */
	control(change: () => Promise<void>): void {
		const refusal = this.#options.refusal ?? this.#crowded(1);
		if (refusal) this.#refuse(refusal);
		else {
			this.#options.acts({ isTyped: false });
			this.#enqueue(1, () => change().catch((error: unknown) => this.#refuse(error)));
		}
	}

	/** Queues other input of about this size; later actions wait for it. Returns the reason if it is refused. */
	inTurn(bytes: number, run: () => Promise<void>): SessionError | undefined {
		const refusal = this.#options.refusal ?? this.#crowded(bytes);
		if (refusal) return refusal;
		this.#options.acts({ isTyped: true });
		this.#enqueue(bytes, run);
		return undefined;
	}

	/** Sends a receipt whenever the kernel accepted more, until nothing can be written any more. */
	async watch(): Promise<void> {
		const { stream, wire } = this.#options;
		for await (const receipt of this.#session.receipts(stream, wire.ended)) {
			if (receipt.written > this.#receipt.written) this.#acknowledge(receipt);
		}
	}

	#crowded(bytes: number): SessionError | undefined {
		const { waitingBytes, waitingActs } = this.#options.limits;
		if (this.#waitingBytes + bytes <= waitingBytes && this.#jobs.length < waitingActs) return undefined;
		return new SessionError("limit_exceeded", "input exceeds the window");
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

	async #offer(act: Action, position: number): Promise<void> {
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

	/**
	 * Where the client must continue after a refused action: at its position, or earlier if the stream never got that
	 * far.
	 */
	async #wanted(position: number): Promise<number> {
		const receipt = await this.#session.receipt(this.#options.stream).catch(() => undefined);
		return Math.min(position, receipt?.next ?? position);
	}

	#acknowledge(receipt: InputReceipt): void {
		// Receipts may arrive out of order, but must not decrease.
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
