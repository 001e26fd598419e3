/**
 * The wire between a server and a keeper: messages of a JSON header and raw bytes, over a Unix socket.
 *
 *   u32be length of the rest | u16be length of the header | header (JSON, UTF-8) | body
 *
 * Everything that both ends must agree on across versions is here and in messages.ts.
 */

import type { Socket } from "node:net";

/** More than one frame ever needs; a longer one is a broken peer. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;
const PREFIX_BYTES = 6;
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

/** Cuts what arrives into frames. Bodies share the memory they arrived in where they came in one piece. */
export class FrameDecoder {
	#chunks: Buffer[] = [];
	#bytes = 0;

	*push(chunk: Buffer): Generator<Frame<unknown>> {
		this.#chunks.push(chunk);
		this.#bytes += chunk.byteLength;
		for (;;) {
			if (this.#bytes < PREFIX_BYTES) return;
			const length = 4 + this.#front(PREFIX_BYTES).readUInt32BE(0);
			if (length > MAX_FRAME_BYTES) throw new Error(`link: a frame of ${length} bytes`);
			if (this.#bytes < length) return;
			yield decodeFrame(this.#take(length));
		}
	}

	/** The first chunk, made to hold at least this much. */
	#front(bytes: number): Buffer {
		const [first] = this.#chunks;
		if (first && first.byteLength >= bytes) return first;
		const whole = Buffer.concat(this.#chunks);
		this.#chunks = [whole];
		return whole;
	}

	#take(bytes: number): Buffer {
		const front = this.#front(bytes);
		this.#bytes -= bytes;
		if (front.byteLength === bytes) this.#chunks.shift();
		else this.#chunks[0] = front.subarray(bytes);
		return front.subarray(0, bytes);
	}
}

function decodeFrame(bytes: Buffer): Frame<unknown> {
	const end = PREFIX_BYTES + bytes.readUInt16BE(4);
	if (end > bytes.byteLength) throw new Error("link: a header longer than its frame");
	return { header: JSON.parse(bytes.toString("utf8", PREFIX_BYTES, end)), body: bytes.subarray(end) };
}

/** One end of a link. Broken frames and errors close it; what is behind it is told once. */
export class Link<Incoming, Outgoing> {
	readonly #socket: Socket;
	#isClosed = false;

	constructor(
		socket: Socket,
		handlers: { onFrame: (frame: Frame<Incoming>) => void; onClose: (error: Error | undefined) => void },
	) {
		this.#socket = socket;
		const decoder = new FrameDecoder();
		let failure: Error | undefined;
		socket.on("data", (chunk: Buffer) => {
			try {
				for (const frame of decoder.push(chunk)) handlers.onFrame(frame as Frame<Incoming>);
			} catch (error) {
				failure = error as Error;
				socket.destroy();
			}
		});
		socket.on("error", (error) => {
			failure ??= error;
		});
		socket.on("close", () => {
			this.#isClosed = true;
			handlers.onClose(failure);
		});
	}

	/** Sends a frame; of no effect once the link is closed. Who sends much waits for `drained` in between. */
	send(header: Outgoing, body?: Uint8Array): void {
		if (this.#isClosed) return;
		this.#socket.cork();
		for (const part of encodeFrame(header, body)) this.#socket.write(part);
		this.#socket.uncork();
	}

	close(): void {
		this.#socket.destroy();
	}

	/** Closes once everything sent so far has left. */
	end(): void {
		this.#socket.end();
	}
}
