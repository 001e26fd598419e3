/**
 * The wire between a server and a keeper: messages of a JSON header and raw bytes, over a Unix socket.
 *
 *   u32be length of the rest | u16be length of the header | header (JSON, UTF-8) | body
 *
 * Everything that both ends must agree on across versions is here and in messages.ts.
 */

import { connect, type Socket } from "node:net";

/** More than one frame ever needs; a longer one is a broken peer. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;
const PREFIX_BYTES = 6;
/** Few calls and answers are longer; idle links cost this much. */
const COMMON_BYTES = 16 * 1024;
const NO_BYTES = new Uint8Array(0);

export type Frame<Header> = { readonly header: Header; readonly body: Uint8Array };

/** A frame as the parts to be written, the body as it is. */
export function encodeFrame(header: unknown, body: Uint8Array = NO_BYTES): Uint8Array[] {
	const json = Buffer.from(JSON.stringify(header));
	const head = Buffer.allocUnsafe(PREFIX_BYTES + json.byteLength);
	head.writeUInt32BE(2 + json.byteLength + body.byteLength, 0);
	head.writeUInt16BE(json.byteLength, 4);
	json.copy(head, PREFIX_BYTES);
	return body.byteLength === 0 ? [head] : [head, body];
}

/** Cuts what arrives into frames. Large ones are read right into memory of their own, and never copied. */
export class FrameDecoder {
	/** For small frames, which are copied from it, and the beginnings of large ones. */
	readonly #common = Buffer.allocUnsafeSlow(COMMON_BYTES);
	/** The frame that is being read, if it is a large one. */
	#large: Buffer | undefined;
	/** How much has come of what is not handed out yet. */
	#filled = 0;

	/** Where to read to; never empty. */
	space(): Buffer {
		return (this.#large ?? this.#common).subarray(this.#filled);
	}

	/** So many bytes were read to there: the frames that are complete by that. */
	*fill(bytes: number): Generator<Frame<unknown>> {
		this.#filled += bytes;
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

	/** How long the frame is that begins there, as soon as that has come. */
	#lengthAt(at: number): number | undefined {
		if (this.#filled - at < PREFIX_BYTES) return undefined;
		const length = 4 + this.#common.readUInt32BE(at);
		if (length > MAX_FRAME_BYTES) throw new Error(`link: a frame of ${length} bytes`);
		return length;
	}
}

function decodeFrame(bytes: Buffer): Frame<unknown> {
	const end = PREFIX_BYTES + bytes.readUInt16BE(4);
	if (end > bytes.byteLength) throw new Error("link: a header longer than its frame");
	return { header: JSON.parse(bytes.toString("utf8", PREFIX_BYTES, end)), body: bytes.subarray(end) };
}

export type LinkHandlers<Incoming> = {
	readonly onFrame: (frame: Frame<Incoming>) => void;
	/** Called once; no frame comes after it. */
	readonly onClose: (error: Error | undefined) => void;
};

/** One end of a link. Broken frames and errors close it; what is behind it is told once. */
export class Link<Incoming, Outgoing> {
	readonly #socket: Socket;
	readonly #handlers: LinkHandlers<Incoming>;
	#failure: Error | undefined;
	#isClosed = false;

	/** The end that the link was made to. */
	static accept<Incoming, Outgoing>(socket: Socket, handlers: LinkHandlers<Incoming>): Link<Incoming, Outgoing> {
		const decoder = new FrameDecoder();
		const link = new Link<Incoming, Outgoing>(socket, handlers);
		socket.on("data", (chunk) => link.#take(decoder.push(chunk)));
		return link;
	}

	/** The end that makes the link. All output of a session comes this way, so it is read without being copied. */
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
		socket.on("close", () => {
			this.#isClosed = true;
			handlers.onClose(this.#failure);
		});
	}

	/** Sends a frame; of no effect once the link is closed. What may be under way is bounded by the window of each cursor. */
	send(header: Outgoing, body?: Uint8Array): void {
		if (this.#isClosed) return;
		this.#socket.cork();
		for (const part of encodeFrame(header, body)) this.#socket.write(part);
		this.#socket.uncork();
	}

	/** Closes at once, and says why to who hears of it. */
	close(because?: Error): void {
		this.#failure ??= because;
		this.#socket.destroy();
	}

	/** Closes once everything sent so far has left. */
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
