/** The numbered events of one process, and the recent ones kept for reading. */

import type { Stream } from "../../../../words/state.ts";

/** Numbers are consecutive from 1 and shared by all kinds. `closed` has the highest. */
export type ProcessEvent =
	| { readonly kind: "output"; readonly seq: number; readonly stream: Stream; readonly bytes: Uint8Array }
	| { readonly kind: "exited"; readonly seq: number; readonly exitCode: number; readonly sandboxDenied: boolean }
	| { readonly kind: "closed"; readonly seq: number };

export type ReadResult = {
	readonly chunks: readonly { readonly seq: number; readonly stream: Stream; readonly chunk: string }[];
	readonly nextSeq: number;
	readonly exited: boolean;
	readonly exitCode: number | null;
	readonly closed: boolean;
	readonly failure: null;
	readonly sandboxDenied: boolean;
};

type RetainedLimits = { readonly retainedBytes: number; readonly retainedChunks: number };

export class ProcessEvents {
	readonly #limits: RetainedLimits;
	/** Have consecutive numbers. Those before index `#head` are dropped. */
	#events: ProcessEvent[] = [];
	#head = 0;
	#bytes = 0;
	#next = 1;
	#exitCode: number | null = null;
	#sandboxDenied = false;
	#isClosed = false;

	constructor(limits: RetainedLimits) {
		this.#limits = limits;
	}

	/** Number of the next event. */
	get next(): number {
		return this.#next;
	}

	get hasExited(): boolean {
		return this.#exitCode !== null;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	output(stream: Stream, bytes: Uint8Array): ProcessEvent {
		this.#bytes += bytes.byteLength;
		return this.#append({ kind: "output", seq: this.#next, stream, bytes });
	}

	exited(exitCode: number, sandboxDenied = false): ProcessEvent {
		this.#exitCode = exitCode;
		this.#sandboxDenied = sandboxDenied;
		return this.#append({ kind: "exited", seq: this.#next, exitCode, sandboxDenied });
	}

	closed(): ProcessEvent {
		this.#isClosed = true;
		return this.#append({ kind: "closed", seq: this.#next });
	}

	/** The event with this number, if it exists and is still kept. */
	at(seq: number): ProcessEvent | undefined {
		const index = this.#events.length - (this.#next - seq);
		return index < this.#head ? undefined : this.#events[index];
	}

	/** Returns chunks and the current state. Chunks are never split, and the first one is returned whatever its size. */
	read(afterSeq: number, maxBytes: number | null): ReadResult {
		const most = maxBytes ?? Number.POSITIVE_INFINITY;
		const chunks: { seq: number; stream: Stream; chunk: string }[] = [];
		const from = this.#events.length - (this.#next - 1 - Math.min(afterSeq, this.#next - 1));
		for (let at = Math.max(this.#head, from), total = 0; at < this.#events.length; at++) {
			const event = this.#events[at];
			if (event?.kind !== "output") continue;
			total += event.bytes.byteLength;
			if (chunks.length > 0 && total > most) break;
			chunks.push({ seq: event.seq, stream: event.stream, chunk: toBase64(event.bytes) });
			if (total >= most) break;
		}
		const last = chunks.at(-1);
		return {
			chunks,
			nextSeq: maxBytes !== null && last ? last.seq + 1 : this.#next,
			exited: this.#exitCode !== null,
			exitCode: this.#exitCode,
			closed: this.#isClosed,
			failure: null,
			sandboxDenied: this.#sandboxDenied,
		};
	}

	#append(event: ProcessEvent): ProcessEvent {
		this.#events.push(event);
		this.#next++;
		const { retainedBytes, retainedChunks } = this.#limits;
		while (this.#bytes > retainedBytes || this.#events.length - this.#head > retainedChunks) this.#dropOldest();
		return event;
	}

	/** Removes dropped events in batches, so that dropping takes constant time. */
	#dropOldest(): void {
		const oldest = this.#events[this.#head++];
		if (oldest?.kind === "output") this.#bytes -= oldest.bytes.byteLength;
		if (this.#head * 2 < this.#events.length) return;
		this.#events = this.#events.slice(this.#head);
		this.#head = 0;
	}
}

export function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
	return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
