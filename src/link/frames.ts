/**
 * Messages of a JSON header and raw bytes, as they stand on the wire between a server and a keeper.
 *
 *   u32be length of the rest | u16be length of the header | header (JSON, UTF-8) | body
 *
 * A header of 65,535 bytes or more has 0xffff there, and its length as u32be behind it; version 1 has no such headers.
 */

import { SessionError } from "../core/errors.ts";

/** What one end may send to the other, which is what that other end's version takes. */
export type FrameLimits = {
	readonly frameBytes: number;
	readonly headerBytes: number;
};

const LENGTH_BYTES = 4;
const PREFIX_BYTES = 6;
const LONG_PREFIX_BYTES = 10;
/** In the place of a header's length: it is too long for 16 bits and stands behind. */
const IS_LONG = 0xffff;
/**
 * The most that the kernel takes to start a program is 2 MiB by default, and JSON makes up to six bytes of one;
 * whatever is longer is a broken peer.
 */
export const FRAME_LIMITS: FrameLimits = { frameBytes: 16 * 1024 * 1024, headerBytes: 16 * 1024 * 1024 };
/** What a peer of version 1 takes. */
export const FRAME_LIMITS_V1: FrameLimits = { frameBytes: 4 * 1024 * 1024, headerBytes: IS_LONG - 1 };
/** Few calls and answers are longer; idle links cost this much. */
const COMMON_BYTES = 16 * 1024;
const NO_BYTES = new Uint8Array(0);

export type Frame<Header> = { readonly header: Header; readonly body: Uint8Array };

/** A frame as the parts to be written, the body as it is. Refuses what the other end would not take. */
export function encodeFrame(
	header: unknown,
	body: Uint8Array = NO_BYTES,
	limits: FrameLimits = FRAME_LIMITS,
): Uint8Array[] {
	const json = Buffer.from(JSON.stringify(header));
	const isLong = json.byteLength >= IS_LONG;
	const prefix = isLong ? LONG_PREFIX_BYTES : PREFIX_BYTES;
	const length = prefix + json.byteLength + body.byteLength;
	if (length > limits.frameBytes || json.byteLength > limits.headerBytes) {
		throw new SessionError(
			"limit_exceeded",
			`this takes ${length} bytes, more than can be said to the session's keeper`,
		);
	}
	const head = Buffer.allocUnsafe(prefix + json.byteLength);
	head.writeUInt32BE(length - LENGTH_BYTES, 0);
	head.writeUInt16BE(isLong ? IS_LONG : json.byteLength, LENGTH_BYTES);
	if (isLong) head.writeUInt32BE(json.byteLength, PREFIX_BYTES);
	json.copy(head, prefix);
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
		// What was handed out may be a secret, which whoever has it overwrites.
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

	/** How long the frame is that begins there, as soon as that has come. */
	#lengthAt(at: number): number | undefined {
		if (this.#filled - at < LENGTH_BYTES) return undefined;
		const length = LENGTH_BYTES + this.#common.readUInt32BE(at);
		if (length > FRAME_LIMITS.frameBytes) throw new Error(`link: a frame of ${length} bytes`);
		return length;
	}
}

function decodeFrame(bytes: Buffer): Frame<unknown> {
	const { start, end } = headerOf(bytes);
	if (end > bytes.byteLength) throw new Error("link: a header longer than its frame");
	return { header: JSON.parse(bytes.toString("utf8", start, end)), body: bytes.subarray(end) };
}

function headerOf(bytes: Buffer): { readonly start: number; readonly end: number } {
	if (bytes.byteLength < PREFIX_BYTES) throw new Error("link: a frame without a header");
	const length = bytes.readUInt16BE(LENGTH_BYTES);
	if (length !== IS_LONG) return { start: PREFIX_BYTES, end: PREFIX_BYTES + length };
	if (bytes.byteLength < LONG_PREFIX_BYTES) throw new Error("link: a frame without a header");
	return { start: LONG_PREFIX_BYTES, end: LONG_PREFIX_BYTES + bytes.readUInt32BE(PREFIX_BYTES) };
}
