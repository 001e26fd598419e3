/** The output side of an attachment: what arrived, what was handed over, and what the server is told of it. */

import type { ServerFrame } from "../protocol/frames.ts";
import type { ServerMessage } from "../protocol/socket.ts";
import { type AttachmentEvent, EventQueue } from "./event-queue.ts";
import { Inbox } from "./inbox.ts";

/** How much is dealt with before the server is told: an eighth of its window. */
const ACK_BYTES = 32 * 1024;
/** And how long it waits for less than that. */
const ACK_MS = 100;

type Size = { readonly cols: number; readonly rows: number };

export class Reader {
	readonly #queue: EventQueue;
	readonly #inbox: Inbox;
	#since: number | "end";
	#asked: number | "end";
	/** Everything before it was dealt with: the reader came back for more. */
	#consumed = 0;
	#isComplete = false;
	/** Of this connection: how far it came, and how far it was told that we are. */
	#arrived = 0;
	#acknowledged = 0;
	#acknowledge: ((offset: number) => void) | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#onDemand: (() => void) | undefined;
	/** Of this connection: the screen that it begins with. */
	#screen: (Size & { readonly isFirst: boolean }) | undefined;

	constructor(since: number | "end") {
		this.#since = since;
		this.#asked = since;
		this.#inbox = new Inbox(since);
		this.#queue = new EventQueue((event) => this.#taken(event));
	}

	/** The first byte that was not handed over; "end" until it is known where that is. */
	get since(): number | "end" {
		return this.#since;
	}

	/** Where the next connection is to begin. */
	ask(): number | "end" {
		this.#asked = this.#since;
		return this.#asked;
	}

	/** The last event has arrived: no connection is needed for what is left. */
	get isComplete(): boolean {
		return this.#isComplete;
	}

	/** The connection that was asked for begins with the byte at `from`. The reader may have gone on meanwhile. */
	open(
		{ from, isOver, screen }: { from: number; isOver: boolean; screen?: Size | undefined },
		acknowledge: (offset: number) => void,
	): void {
		this.#screen = screen && { ...screen, isFirst: true };
		if (screen) {
			// It shows what was not read yet, too.
			this.#queue.supersede();
			this.#inbox.begin(from);
			this.#since = from;
		}
		const isFirst = this.#inbox.open(this.#asked, from, isOver);
		if (this.#since === "end" || (isFirst && from < this.#since)) this.#since = from;
		// The server takes `since` as an acknowledgement, and none for more than it has sent.
		this.#arrived = from;
		this.#acknowledged = from;
		this.#acknowledge = acknowledge;
	}

	/** The connection is over. */
	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#acknowledge = undefined;
	}

	push(event: AttachmentEvent): void {
		this.#queue.push(event);
	}

	/** Takes a frame or message if it is a part of the log; throws when it does not follow on what was there. */
	receive(received: ServerFrame | ServerMessage): void {
		if ("kind" in received) {
			if (received.kind === "output") this.#output(received);
			if (received.kind === "screen") this.#draw(received);
			return;
		}
		switch (received.type) {
			case "gap": {
				this.#arrived = Math.max(this.#arrived, received.to);
				const gap = this.#inbox.gap(received);
				if (gap) this.#queue.push({ kind: "gap", ...gap, reason: received.reason });
				return;
			}
			case "resized":
			case "exited":
				if (this.#inbox.event(received.offset)) this.#queue.push(eventOf(received));
				return;
			case "closed":
			case "lost":
				// Comes once, because nothing is asked for after it; and perhaps before what was lost and we have read.
				this.#isComplete = true;
				this.#queue.push(eventOf(received));
				return;
			default:
		}
	}

	next(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		if (this.#since !== "end") this.#consumed = this.#since;
		this.#report();
		const next = this.#queue.next();
		if (this.#queue.isAwaited) this.#onDemand?.();
		return next;
	}

	/** Resolves when the reader has had everything and asks for more. */
	demand(signal: AbortSignal): Promise<void> {
		if (this.#queue.isAwaited || signal.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			this.#onDemand = () => {
				this.#onDemand = undefined;
				resolve();
			};
			signal.addEventListener("abort", this.#onDemand, { once: true });
		});
	}

	/** Nothing follows what has arrived. */
	end(error?: unknown): void {
		this.#queue.end(error);
	}

	/** Nobody wants the rest. */
	drop(): void {
		this.#queue.clear();
		this.#queue.end();
	}

	/** The reader will not come back, and has dealt with what it had. */
	finish(): void {
		if (this.#since !== "end") this.#consumed = this.#since;
		this.#flush();
	}

	#flush(): void {
		const offset = Math.min(this.#consumed, this.#arrived);
		clearTimeout(this.#timer);
		this.#timer = undefined;
		if (offset <= this.#acknowledged) return;
		this.#acknowledged = offset;
		this.#acknowledge?.(offset);
	}

	#output({ stream, offset, bytes }: Extract<ServerFrame, { kind: "output" }>): void {
		this.#arrived = Math.max(this.#arrived, offset + bytes.byteLength);
		const output = this.#inbox.output(offset, bytes);
		if (output) this.#queue.push({ kind: "output", stream, ...output });
		// What it repeats may be dealt with already.
		else this.#report();
	}

	#draw({ offset, bytes }: Extract<ServerFrame, { kind: "screen" }>): void {
		if (!this.#screen) return;
		this.#queue.push({ kind: "screen", offset, ...this.#screen, bytes });
		this.#screen = { ...this.#screen, isFirst: false };
	}

	#taken(event: AttachmentEvent): void {
		if (event.kind === "output") this.#since = event.offset + event.bytes.byteLength;
		else if (event.kind === "gap") this.#since = event.to;
	}

	/** Tells the server soon what was dealt with, or at once when it is much. */
	#report(): void {
		if (!this.#acknowledge) return;
		const offset = Math.min(this.#consumed, this.#arrived);
		if (offset - this.#acknowledged >= ACK_BYTES) this.#flush();
		else if (offset > this.#acknowledged) this.#timer ??= setTimeout(() => this.#flush(), ACK_MS);
	}
}

type Told = Extract<ServerMessage, { type: "resized" | "exited" | "closed" | "lost" }>;

function eventOf({ type: kind, ...fields }: Told): AttachmentEvent {
	return { kind, ...fields } as AttachmentEvent;
}
