/**
 * One end of the Unix socket between a server and a keeper: sends and receives frames, with backpressure. Also how the
 * items of a cursor become frames, and how many may be in flight.
 */

import { connect, type Socket } from "node:net";
import { Change } from "../../core/async/change.ts";
import { SessionError } from "../../core/errors.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import type { Event, Gap, Item, LogPosition } from "../../core/log/event.ts";

/**
 * Unsent bytes above which a stream waits, in addition to its own window: with many streams the windows add up.
 * @limit bytes that a link has not taken | the keeper waits
 */
const BACKLOG_BYTES = 2 * 1024 * 1024;

type LinkHandlers<Incoming> = {
	readonly onFrame: (frame: Frame<Incoming>) => void;
	/** Called once, after the last frame. */
	readonly onClose: (error: Error | undefined) => void;
};

/** An invalid frame or an error closes the link. */
export class Link<Incoming, Outgoing> {
	readonly #socket: Socket;
	readonly #handlers: LinkHandlers<Incoming>;
	readonly #drain = new Change();
	#failure: Error | undefined;
	#isClosed = false;

	/** The keeper's end, for an accepted connection. */
	static accept<Incoming, Outgoing>(socket: Socket, handlers: LinkHandlers<Incoming>): Link<Incoming, Outgoing> {
		const decoder = new FrameDecoder();
		const link = new Link<Incoming, Outgoing>(socket, handlers);
		socket.on("data", (chunk) => {
			link.#take(decoder.push(chunk));
			// The decoder has copied it, and it may contain a secret.
			chunk.fill(0);
		});
		return link;
	}

	/** The server's end. All output of a session comes this way, so it is read without copying. */
	static connect<Incoming, Outgoing>(path: string, handlers: LinkHandlers<Incoming>): Link<Incoming, Outgoing> {
		const decoder = new FrameDecoder();
		const onread = {
			buffer: () => decoder.space(),
			callback: (length: number) => {
				link.#take(decoder.fill(length));
				return true;
			},
		};
		const link = new Link<Incoming, Outgoing>(connect({ path, onread }), handlers);
		return link;
	}

	private constructor(socket: Socket, handlers: LinkHandlers<Incoming>) {
		this.#socket = socket;
		this.#handlers = handlers;
		socket.on("error", (error) => {
			this.#failure ??= error;
		});
		socket.on("drain", () => this.#drain.happen());
		socket.on("close", () => {
			this.#isClosed = true;
			this.#drain.happen();
			handlers.onClose(this.#failure);
		});
	}

	/**
	 * Sends a frame. Has no effect once the link is closed. Throws `limit_exceeded` if it is too large, and then sends
	 * nothing. Streams must wait for `drained` after each frame; single requests and responses need not.
	 */
	send(header: Outgoing, body?: Uint8Array): void {
		if (this.#isClosed) return;
		const parts = encodeFrame(header, body);
		this.#socket.cork();
		for (const part of parts) this.#socket.write(part);
		this.#socket.uncork();
	}

	/** Resolves when more can be sent, when the link is closed, or when the signal aborts. */
	async drained(signal: AbortSignal): Promise<void> {
		while (this.#socket.writableLength > BACKLOG_BYTES && !this.#isClosed && !signal.aborted) {
			await this.#drain.wait(signal);
		}
	}

	/** Closes at once. The error is passed to `onClose`. */
	close(because?: Error): void {
		this.#failure ??= because;
		this.#socket.destroy();
	}

	/** Closes after everything sent so far. */
	end(): void {
		this.#socket.end();
	}

	#take(frames: Iterable<Frame<unknown>>): void {
		try {
			for (const frame of frames) this.#handlers.onFrame(frame as Frame<Incoming>);
		} catch (error) {
			this.close(error as Error);
		}
	}
}

const LENGTH_BYTES = 4;
const PREFIX_BYTES = 6;
const LONG_PREFIX_BYTES = 10;
/** Replaces a header length that exceeds 16 bits. The real one follows. */
const IS_LONG = 0xffff;
/**
 * The kernel accepts at most 2 MiB to start a program, and JSON takes up to six bytes for one. A longer frame means a
 * broken peer.
 * @limit one message to or from a keeper | `limit_exceeded` at the sender
 */
const FRAME_BYTES: number = 16 * 1024 * 1024;
/** Most frames are shorter. Every idle link takes this much memory. */
const COMMON_BYTES = 16 * 1024;
const NO_BYTES = new Uint8Array(0);

export type Frame<Header> = { readonly header: Header; readonly body: Uint8Array };

/** Encodes a frame as parts to write; the body is not copied. Throws if it is too large. */
export function encodeFrame(header: unknown, body: Uint8Array = NO_BYTES): Uint8Array[] {
	const json = Buffer.from(JSON.stringify(header));
	const isLong = json.byteLength >= IS_LONG;
	const prefix = isLong ? LONG_PREFIX_BYTES : PREFIX_BYTES;
	const length = prefix + json.byteLength + body.byteLength;
	if (length > FRAME_BYTES) {
		throw new SessionError(
			"limit_exceeded",
			`the request to the session's keeper is too large: ${length} bytes (limit ${FRAME_BYTES})`,
		);
	}
	const head = Buffer.allocUnsafe(prefix + json.byteLength);
	head.writeUInt32BE(length - LENGTH_BYTES, 0);
	head.writeUInt16BE(isLong ? IS_LONG : json.byteLength, LENGTH_BYTES);
	if (isLong) head.writeUInt32BE(json.byteLength, PREFIX_BYTES);
	json.copy(head, prefix);
	return body.byteLength === 0 ? [head] : [head, body];
}

/** Splits received bytes into frames. Large frames are read directly into their own buffer and never copied. */
export class FrameDecoder {
	/** Buffer for small frames, which are copied out of it, and for the beginnings of large ones. */
	readonly #common = Buffer.allocUnsafeSlow(COMMON_BYTES);
	/** The large frame that is being read. */
	#large: Buffer | undefined;
	/** Bytes in the current buffer. */
	#filled = 0;

	/** The buffer to read into; never empty. */
	space(): Buffer {
		return (this.#large ?? this.#common).subarray(this.#filled);
	}

	/** Accepts bytes that were read into it, and yields the frames that are complete. */
	*fill(bytes: number): Generator<Frame<unknown>> {
		this.#filled += bytes;
		const end = this.#filled;
		const large = this.#large;
		if (large) {
			if (this.#filled < large.byteLength) return;
			this.#large = undefined;
			this.#filled = 0;
			yield decodeFrame(large);
			return;
		}
		let at = 0;
		let length = this.#lengthAt(0);
		for (; length !== undefined && length <= this.#filled - at; length = this.#lengthAt(at)) {
			yield decodeFrame(Buffer.from(this.#common.subarray(at, at + length)));
			at += length;
		}
		if (length !== undefined && length > COMMON_BYTES) this.#large = Buffer.allocUnsafeSlow(length);
		this.#common.copy(this.#large ?? this.#common, 0, at, this.#filled);
		this.#filled -= at;
		// Overwrite frames that were passed on, because they may contain secrets.
		this.#common.fill(0, this.#large ? 0 : this.#filled, end);
	}

	/** The same for bytes that were read elsewhere. */
	*push(chunk: Uint8Array): Generator<Frame<unknown>> {
		for (let at = 0; at < chunk.byteLength; ) {
			const space = this.space();
			const part = chunk.subarray(at, at + space.byteLength);
			space.set(part);
			at += part.byteLength;
			yield* this.fill(part.byteLength);
		}
	}

	/** The length of the frame at a position, once its prefix is there. */
	#lengthAt(at: number): number | undefined {
		if (this.#filled - at < LENGTH_BYTES) return undefined;
		const length = LENGTH_BYTES + this.#common.readUInt32BE(at);
		if (length > FRAME_BYTES) throw new Error(`link: a frame of ${length} bytes`);
		return length;
	}
}

function decodeFrame(bytes: Buffer): Frame<unknown> {
	const { start, end } = headerOf(bytes);
	if (end > bytes.byteLength) throw new Error("link: the header is longer than its frame");
	return { header: JSON.parse(bytes.toString("utf8", start, end)), body: bytes.subarray(end) };
}

function headerOf(bytes: Buffer): { readonly start: number; readonly end: number } {
	if (bytes.byteLength < PREFIX_BYTES) throw new Error("link: a frame without a header");
	const length = bytes.readUInt16BE(LENGTH_BYTES);
	if (length !== IS_LONG) return { start: PREFIX_BYTES, end: PREFIX_BYTES + length };
	if (bytes.byteLength < LONG_PREFIX_BYTES) throw new Error("link: a frame without a header");
	return { start: LONG_PREFIX_BYTES, end: LONG_PREFIX_BYTES + bytes.readUInt32BE(PREFIX_BYTES) };
}

/**
 * Bytes of a cursor's items that may be in flight. Less for kinds of which many may stall.
 * @limit items in flight from a keeper to one reader | the keeper continues when the reader has taken some
 */
const WINDOW_BYTES = { lossless: 1024 * 1024, other: 512 * 1024 };
/** Cost of an item in addition to its bytes, so that many small items are bounded too. */
const ITEM_COST_BYTES = 128;

/** The header of an item's frame. The bytes of an output event are the frame's body. */
export type WireItem =
	| Gap
	| (LogPosition & { readonly kind: string; readonly time: number; readonly [field: string]: unknown });

export function toWireItem(item: Item): { item: WireItem; body?: Uint8Array } {
	if (item.kind !== "output") return { item };
	const { bytes, ...rest } = item;
	return { item: rest, body: bytes };
}

export function fromWireItem(item: WireItem, body: Uint8Array): Item {
	if (item.kind === "output") return { ...item, bytes: body } as unknown as Event;
	return item as Item;
}

export function windowOf(flow: FollowOptions["flow"] | null): number {
	return flow === "lossless" ? WINDOW_BYTES.lossless : WINDOW_BYTES.other;
}

/** The window cost of an item. The reader returns the same as credit. */
export function costOf(item: Item): number {
	return ITEM_COST_BYTES + (item.kind === "output" ? item.bytes.byteLength : 0);
}
