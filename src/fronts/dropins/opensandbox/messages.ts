/** The messages of a PTY's WebSocket: bytes with a channel byte in front, and JSON for everything else. */

import { parseJson } from "../../../core/json-scan.ts";
import { Body } from "./request-body.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, replay: 3 } as const;

/** The channel byte plus the offset of the first replayed byte. */
const REPLAY_HEAD_BYTES = 9;

/** Output bytes per message. */
const CHUNK_BYTES = 32 * 1024;

export function outputFrame(channel: "stdout" | "stderr", bytes: Uint8Array): Uint8Array {
	const frame = Buffer.allocUnsafe(1 + bytes.byteLength);
	frame[0] = channels[channel];
	frame.set(bytes, 1);
	return frame;
}

/** Output with its offset in the PTY's stream. */
export function replayFrame(offset: number, pieces: readonly Uint8Array[]): Uint8Array {
	const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
	const frame = Buffer.allocUnsafe(REPLAY_HEAD_BYTES + length);
	frame[0] = channels.replay;
	frame.writeBigUInt64BE(BigInt(offset), 1);
	let at = REPLAY_HEAD_BYTES;
	for (const piece of pieces) {
		frame.set(piece, at);
		at += piece.byteLength;
	}
	return frame;
}

/** Splits bytes into pieces of one message. */
export function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
	for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

export type ServerMessage =
	| { readonly type: "connected"; readonly session_id: string; readonly mode: string; readonly role?: string }
	| { readonly type: "exit"; readonly exit_code: number }
	| { readonly type: "pong" }
	| { readonly type: "error"; readonly code: FrameCode; readonly error: string };

type FrameCode = "START_FAILED" | "ALREADY_CONNECTED" | "STDIN_WRITE_FAILED" | "INVALID_FRAME" | "READ_ONLY";

const signals = ["SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT", "SIGHUP"];

export type ClientFrame =
	| { readonly type: "stdin"; readonly bytes: Uint8Array }
	| { readonly type: "signal"; readonly signal: string }
	| { readonly type: "resize"; readonly cols: number; readonly rows: number }
	| { readonly type: "ping" }
	/** Unknown type, with the error to answer. */
	| { readonly type: "unknown"; readonly answer: ServerMessage }
	/** Invalid; ignored silently. */
	| { readonly type: "nothing" };

export function decodeFrame(data: Buffer, isBinary: boolean): ClientFrame {
	if (!isBinary) return decodeText(data.toString()) ?? { type: "nothing" };
	return data[0] === channels.stdin ? { type: "stdin", bytes: data.subarray(1) } : { type: "nothing" };
}

/** Undefined if it is not a JSON object or a member has the wrong type. */
export function decodeText(text: string): ClientFrame | undefined {
	try {
		const value = parseJson(text);
		if (typeof value !== "object" || Array.isArray(value)) return undefined;
		return decodeMessage(new Body(value ?? {}));
	} catch {
		return undefined;
	}
}

function decodeMessage(body: Body): ClientFrame {
	// All members are checked whatever the type: a wrong one makes the whole message invalid.
	const type = body.string("type");
	const data = body.string("data");
	const signal = body.string("signal");
	const cols = body.integer("cols", Number.MIN_SAFE_INTEGER) ?? 0;
	const rows = body.integer("rows", Number.MIN_SAFE_INTEGER) ?? 0;
	switch (type) {
		case "stdin":
			return { type, bytes: Buffer.from(data) };
		case "signal":
			return signals.includes(signal) ? { type, signal } : { type: "nothing" };
		case "resize":
			return isSize(cols) && isSize(rows) ? { type, cols, rows } : { type: "nothing" };
		case "ping":
			return { type };
		default: {
			const error = `unknown frame type ${JSON.stringify(type.slice(0, 64))}`;
			return { type: "unknown", answer: { type: "error", code: "INVALID_FRAME", error } };
		}
	}
}

/** The kernel stores 16 bits; larger numbers would wrap. */
function isSize(cells: number): boolean {
	return cells >= 1 && cells <= 65_535;
}
