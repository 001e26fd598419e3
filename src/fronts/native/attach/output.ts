/** Output over a WebSocket: read from the log as fast as the client consumes it, combined into large frames. */

import { closeCodes } from "../../../api/socket.ts";
import type { ServerMessage } from "../../../api/types.ts";
import type { Item } from "../../../core/log/event.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import type { SocketLimits } from "../limits.ts";
import type { AttachWire } from "./wire.ts";

type Side = "stdout" | "stderr";

type SocketOutputOptions = {
	readonly wire: AttachWire;
	readonly limits: SocketLimits;
	readonly traffic: TrafficCounters;
	/** The offset of the first byte that may be sent. */
	readonly from: number;
};

export class SocketOutput {
	readonly #wire: AttachWire;
	readonly #limits: SocketLimits;
	readonly #traffic: TrafficCounters;
	readonly #window: OutputWindow;
	/** Chunks of the next frame, all of one side. */
	#pieces: Uint8Array[] = [];
	#side: Side = "stdout";
	#gathered = 0;
	#isFlushPlanned = false;
	#wake: (() => void) | undefined;

	constructor({ wire, limits, traffic, from }: SocketOutputOptions) {
		this.#wire = wire;
		this.#limits = limits;
		this.#traffic = traffic;
		this.#window = new OutputWindow(limits.outputWindowBytes, from);
		wire.ended.addEventListener("abort", () => this.#wake?.(), { once: true });
	}

	/** Offset after the last byte taken from the log. */
	get sent(): number {
		return this.#window.sent + this.#gathered;
	}

	/** Sends everything until the log or the connection ends, then waits until the client has consumed it. */
	async run(items: AsyncIterable<Item>): Promise<void> {
		for await (const item of items) {
			if (item.kind === "output") await this.#add(item.stream === "stderr" ? "stderr" : "stdout", item.bytes);
			else this.#sendItem(item);
			if (this.#wire.bufferedBytes > this.#limits.fuseBytes) await this.#room();
			if (this.#wire.ended.aborted) return;
		}
		this.#flush();
		await this.#untilConsumed();
	}

	/** The client has consumed everything before `offset`; false if it can't have. */
	consumed(offset: number): boolean {
		const before = this.#window.inFlight;
		if (!this.#window.consume(offset)) return false;
		// Only progress counts: a repeated offset must not count as a sign of life.
		if (this.#window.inFlight < before) this.#wake?.();
		return true;
	}

	async #add(side: Side, bytes: Uint8Array): Promise<void> {
		if (side !== this.#side) this.#flush();
		this.#side = side;
		for (let rest = bytes; rest.byteLength > 0; ) {
			const room = Math.min(this.#limits.frameBytes, this.#window.room) - this.#gathered;
			if (room <= 0) {
				this.#flush();
				await this.#room();
				if (this.#wire.ended.aborted) return;
				continue;
			}
			const piece = rest.subarray(0, room);
			this.#pieces.push(piece);
			this.#gathered += piece.byteLength;
			rest = rest.subarray(piece.byteLength);
		}
		if (this.#isFlushPlanned) return;
		this.#isFlushPlanned = true;
		// Runs after all pending promises, so that everything already available is in the frame, without further delay.
		process.nextTick(() => {
			this.#isFlushPlanned = false;
			this.#flush();
		});
	}

	#flush(): void {
		if (this.#gathered === 0) return;
		const output = { side: this.#side, offset: this.#window.sent, pieces: this.#pieces, length: this.#gathered };
		this.#window.send(this.#gathered);
		this.#traffic.bytesOut += this.#gathered;
		this.#pieces = [];
		this.#gathered = 0;
		this.#wire.sendOutput(output, () => this.#wake?.());
	}

	#sendItem(item: Exclude<Item, { kind: "output" }>): void {
		this.#flush();
		if (item.kind === "gap") this.#window.skip(item.to);
		if (item.kind === "gap" && item.reason === "live") this.#traffic.bytesSkipped += item.to - item.from;
		this.#wire.say(toMessage(item));
	}

	/** Resolves when more may be sent or the connection is over. Closes a client that makes no progress for too long. */
	async #room(): Promise<void> {
		const isFull = () => this.#window.room <= this.#gathered || this.#wire.bufferedBytes > this.#limits.fuseBytes;
		while (isFull() && !this.#wire.ended.aborted) {
			if (await this.#change(this.#limits.ackMs)) continue;
			this.#wire.close(closeCodes.tooSlow, `nothing was consumed for ${this.#limits.ackMs} ms`);
		}
	}

	async #untilConsumed(): Promise<void> {
		const deadline = performance.now() + this.#limits.lastAckMs;
		while (this.#window.inFlight > 0 && !this.#wire.ended.aborted) {
			if (!(await this.#change(Math.max(0, deadline - performance.now())))) return;
		}
	}

	/** Whether anything changed in this time: an acknowledgment, bytes accepted by the kernel, or the end. */
	#change(ms: number): Promise<boolean> {
		return new Promise((resolve) => {
			const done = (isChange: boolean) => {
				clearTimeout(timer);
				this.#wake = undefined;
				resolve(isChange);
			};
			const timer = setTimeout(() => done(false), ms);
			this.#wake = () => done(true);
		});
	}
}

function toMessage(item: Exclude<Item, { kind: "output" }>): ServerMessage {
	if (item.kind === "gap") return { type: "gap", from: item.from, to: item.to, reason: item.reason };
	const { offset } = item;
	if (item.kind === "resized") return { type: "resized", offset, cols: item.size.cols, rows: item.size.rows };
	if (item.kind === "exited") return { type: "exited", offset, exit: item.exit };
	if (item.kind === "lost") return { type: "lost", offset, message: item.message };
	return { type: "closed", offset };
}

type Skipped = { readonly from: number; to: number };

/** Counts the output in flight to a client: sent but not consumed, not counting gaps. */
export class OutputWindow {
	readonly #size: number;
	#consumed: number;
	#sent: number;
	/** Gaps after the consumed offset, in order. They don't count as in flight. */
	#skipped: Skipped[] = [];

	/** Everything before `from` counts as consumed. */
	constructor(size: number, from: number) {
		this.#size = size;
		this.#consumed = from;
		this.#sent = from;
	}

	/** Bytes that may be sent now. */
	get room(): number {
		return Math.max(0, this.#size - this.inFlight);
	}

	get inFlight(): number {
		return this.#skipped.reduce((bytes, { from, to }) => bytes - (to - from), this.#sent - this.#consumed);
	}

	/** Offset after the last byte sent. */
	get sent(): number {
		return this.#sent;
	}

	send(bytes: number): void {
		this.#sent += bytes;
	}

	/** The bytes up to `to` will never be sent. */
	skip(to: number): void {
		const from = this.#sent;
		if (to <= from) return;
		const last = this.#skipped.at(-1);
		if (last?.to === from) last.to = to;
		else this.#skipped.push({ from, to });
		this.#sent = to;
		this.#settle();
	}

	/** False if the client can't have consumed up to this offset. An offset older than the last one has no effect. */
	consume(offset: number): boolean {
		if (offset > this.#sent) return false;
		this.#consumed = Math.max(this.#consumed, offset);
		this.#settle();
		return true;
	}

	#settle(): void {
		let [first] = this.#skipped;
		while (first && first.from <= this.#consumed) {
			this.#consumed = Math.max(this.#consumed, first.to);
			this.#skipped.shift();
			[first] = this.#skipped;
		}
	}
}
