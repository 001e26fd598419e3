/** The output side of an attachment: events that arrived, events that were read, and acknowledgments to the server. */

import type { ServerFrame } from "../../api/frames.ts";
import type { ServerMessage } from "../../api/types.ts";
import { type AttachmentEvent, EventQueue } from "./event-queue.ts";
import { ResumePosition } from "./resume-position.ts";

/** Acknowledge after this many bytes: an eighth of the server's window. */
const ACK_BYTES = 32 * 1024;
/** Acknowledge less than that after this time. */
const ACK_MS = 100;

type Size = { readonly cols: number; readonly rows: number };

export class Reader {
	readonly #queue: EventQueue;
	readonly #inbox: ResumePosition;
	#since: number | "end";
	#asked: number | "end";
	/** Everything before this offset was read: the reader asked for more. */
	#consumed = 0;
	#isComplete = false;
	/** On this connection: end of the output that arrived, and last acknowledged offset. */
	#arrived = 0;
	#acknowledged = 0;
	#acknowledge: ((offset: number) => void) | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#onDemand: (() => void) | undefined;
	/** The screen that this connection starts with. */
	#screen: (Size & { readonly isFirst: boolean }) | undefined;

	constructor(since: number | "end") {
		this.#since = since;
		this.#asked = since;
		this.#inbox = new ResumePosition(since);
		this.#queue = new EventQueue((event) => this.#taken(event));
	}

	/** First byte not read yet; "end" until its offset is known. */
	get since(): number | "end" {
		return this.#since;
	}

	/** The offset to request on the next connection. */
	ask(): number | "end" {
		this.#asked = this.#since;
		return this.#asked;
	}

	/** The last event has arrived, so no further connection is needed. */
	get isComplete(): boolean {
		return this.#isComplete;
	}

	/** The requested connection starts at `from`. The reader may have moved on meanwhile. */
	open(
		{ from, isOver, screen }: { from: number; isOver: boolean; screen?: Size | undefined },
		acknowledge: (offset: number) => void,
	): void {
		this.#screen = screen && { ...screen, isFirst: true };
		if (screen) {
			// The screen includes unread output.
			this.#queue.dropScreenEvents();
			this.#inbox.begin(from);
			this.#since = from;
		}
		const isFirst = this.#inbox.resume(this.#asked, from, isOver);
		if (this.#since === "end" || (isFirst && from < this.#since)) this.#since = from;
		// The server takes `since` as an acknowledgment, and accepts none beyond what it has sent.
		this.#arrived = from;
		this.#acknowledged = from;
		this.#acknowledge = acknowledge;
	}

	/** The connection ended. */
	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#acknowledge = undefined;
	}

	push(event: AttachmentEvent): void {
		this.#queue.push(event);
	}

	/** Takes a frame or message that belongs to the log. Throws if it does not continue the previous one. */
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
				// Arrives once, because no later connection requests it. It may come before lost output that was already read.
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

	/** Resolves when the reader has read everything and waits for more. */
	untilRead(signal: AbortSignal): Promise<void> {
		if (this.#queue.isAwaited || signal.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			this.#onDemand = () => {
				this.#onDemand = undefined;
				resolve();
			};
			signal.addEventListener("abort", this.#onDemand, { once: true });
		});
	}

	/** No events follow. */
	end(error?: unknown): void {
		this.#queue.end(error);
	}

	/** The reader is gone. */
	discard(): void {
		this.#queue.clear();
		this.#queue.end();
	}

	/** The reader will not call again; acknowledges everything it read. */
	acknowledgeAll(): void {
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
		// The connection may repeat output that was already read.
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

	/** Acknowledges what was read: soon, or at once if it is much. */
	#report(): void {
		if (!this.#acknowledge) return;
		const offset = Math.min(this.#consumed, this.#arrived);
		if (offset - this.#acknowledged >= ACK_BYTES) this.#flush();
		else if (offset > this.#acknowledged) this.#timer ??= setTimeout(() => this.#flush(), ACK_MS);
	}
}

type EndMessage = Extract<ServerMessage, { type: "resized" | "exited" | "closed" | "lost" }>;

function eventOf({ type: kind, ...fields }: EndMessage): AttachmentEvent {
	return { kind, ...fields } as AttachmentEvent;
}
