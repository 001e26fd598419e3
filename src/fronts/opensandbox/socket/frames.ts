/** The messages of a PTY's WebSocket: raw bytes behind one byte for the channel, and JSON for the rest. */

import { Body } from "../body.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, replay: 3 } as const;

/** One byte for the channel, and for a replay the offset of its first byte. */
const REPLAY_HEAD_BYTES = 9;

/** What of a program's output one message carries at most. */
const CHUNK_BYTES = 32 * 1024;

export function outputFrame(channel: "stdout" | "stderr", bytes: Uint8Array): Uint8Array {
	const frame = Buffer.allocUnsafe(1 + bytes.byteLength);
	frame[0] = channels[channel];
	frame.set(bytes, 1);
	return frame;
}

/** Output that says where it stands in the record's stream. */
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

/** Pieces of at most one message's size. */
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
	/** A message of ours to answer with, for a type that nobody knows. */
	| { readonly type: "unknown"; readonly answer: ServerMessage }
	/** Nothing that could be meant; passed over without a word. */
	| { readonly type: "nothing" };

export function decodeFrame(data: Buffer, isBinary: boolean): ClientFrame {
	if (!isBinary) return decodeText(data.toString()) ?? { type: "nothing" };
	return data[0] === channels.stdin ? { type: "stdin", bytes: data.subarray(1) } : { type: "nothing" };
}

/** Undefined for what is no JSON object, or has members of other types than they should be. */
export function decodeText(text: string): ClientFrame | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || Array.isArray(value)) return undefined;
		return decodeMessage(new Body(value ?? {}));
	} catch {
		return undefined;
	}
}

function decodeMessage(body: Body): ClientFrame {
	// All are read, whatever the type: one of a wrong type makes the whole message one that nobody meant.
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

/** The kernel keeps 16 bits, so that a larger one would become a smaller. */
function isSize(cells: number): boolean {
	return cells >= 1 && cells <= 65_535;
}
