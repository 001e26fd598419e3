/**
 * The binary frames of the WebSocket `hawser.v1`: one byte for the type, then its fields.
 *
 *   S→C  0x01 | 0x02   u64be offset, bytes         stdout and terminal | stderr
 *   S→C  0x03          u64be offset, bytes         a part of the screen as it was at that offset
 *   S→C  0x80          u64be next, u64be written   input receipt
 *   C→S  0x00          u64be position, bytes       input
 *   C→S  0x04          u64be consumed              output that the client has processed, not merely received
 *
 * Numbers stay below 2^53, which JavaScript can count exactly; larger ones are refused.
 */

const INPUT = 0x00;
const STDOUT = 0x01;
const STDERR = 0x02;
const SCREEN = 0x03;
const CONSUMED = 0x04;
const RECEIPT = 0x80;

const POSITION_BYTES = 8;
const HEAD_BYTES = 1 + POSITION_BYTES;

export type ServerFrame =
	| {
			readonly kind: "output";
			readonly stream: "stdout" | "stderr";
			readonly offset: number;
			readonly bytes: Uint8Array;
	  }
	| { readonly kind: "screen"; readonly offset: number; readonly bytes: Uint8Array }
	| { readonly kind: "receipt"; readonly next: number; readonly written: number };

export type ClientFrame =
	| { readonly kind: "input"; readonly position: number; readonly bytes: Uint8Array }
	| { readonly kind: "consumed"; readonly offset: number };

/** A frame that violates the protocol. */
export class FrameError extends Error {
	constructor(message: string) {
		super(message);
		this.name = "FrameError";
	}
}

/** The header of an output frame. Sending it separately avoids copying the output. */
export function outputHead(stream: "stdout" | "stderr", offset: number): Uint8Array {
	return head(stream === "stderr" ? STDERR : STDOUT, offset);
}

export function encodeServerFrame(frame: ServerFrame): Uint8Array {
	if (frame.kind === "output") return joined(outputHead(frame.stream, frame.offset), frame.bytes);
	if (frame.kind === "screen") return joined(head(SCREEN, frame.offset), frame.bytes);
	const bytes = new Uint8Array(HEAD_BYTES + POSITION_BYTES);
	bytes.set(head(RECEIPT, frame.next));
	writePosition(bytes, HEAD_BYTES, frame.written);
	return bytes;
}

export function decodeServerFrame(bytes: Uint8Array): ServerFrame {
	const position = readPosition(bytes, 1);
	switch (bytes[0]) {
		case STDOUT:
		case STDERR:
			return {
				kind: "output",
				stream: bytes[0] === STDERR ? "stderr" : "stdout",
				offset: position,
				bytes: bytes.subarray(HEAD_BYTES),
			};
		case SCREEN:
			return { kind: "screen", offset: position, bytes: bytes.subarray(HEAD_BYTES) };
		case RECEIPT:
			checkLength(bytes, HEAD_BYTES + POSITION_BYTES);
			return { kind: "receipt", next: position, written: readPosition(bytes, HEAD_BYTES) };
		default:
			throw new FrameError(`unknown frame 0x${(bytes[0] ?? 0).toString(16)}`);
	}
}

export function encodeClientFrame(frame: ClientFrame): Uint8Array {
	if (frame.kind === "consumed") return head(CONSUMED, frame.offset);
	return joined(head(INPUT, frame.position), frame.bytes);
}

export function decodeClientFrame(bytes: Uint8Array): ClientFrame {
	const position = readPosition(bytes, 1);
	switch (bytes[0]) {
		case INPUT:
			return { kind: "input", position, bytes: bytes.subarray(HEAD_BYTES) };
		case CONSUMED:
			checkLength(bytes, HEAD_BYTES);
			return { kind: "consumed", offset: position };
		default:
			throw new FrameError(`unknown frame 0x${(bytes[0] ?? 0).toString(16)}`);
	}
}

function head(kind: number, position: number): Uint8Array {
	const bytes = new Uint8Array(HEAD_BYTES);
	bytes[0] = kind;
	writePosition(bytes, 1, position);
	return bytes;
}

function joined(start: Uint8Array, rest: Uint8Array): Uint8Array {
	const bytes = new Uint8Array(start.byteLength + rest.byteLength);
	bytes.set(start);
	bytes.set(rest, start.byteLength);
	return bytes;
}

function writePosition(bytes: Uint8Array, at: number, position: number): void {
	new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(at, BigInt(position));
}

function readPosition(bytes: Uint8Array, at: number): number {
	if (bytes.byteLength < at + POSITION_BYTES) throw new FrameError(`a frame of ${bytes.byteLength} bytes is too short`);
	const position = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at);
	if (position > BigInt(Number.MAX_SAFE_INTEGER)) throw new FrameError(`position ${position} is beyond 2^53`);
	return Number(position);
}

function checkLength(bytes: Uint8Array, length: number): void {
	if (bytes.byteLength !== length) throw new FrameError(`a frame of ${bytes.byteLength} bytes instead of ${length}`);
}
