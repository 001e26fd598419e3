/**
 * The journal's file format: segments of checksummed records, one record per event.
 *
 *     segment  header record*
 *     header   magic 8 | version u16 | zero u16 | first seq u64 | first offset u64 | crc32c u32
 *     record   body length u32 | crc32c u32 | kind u8 | stream u8 | seq u64 | offset u64 | time f64 | body
 *
 * Numbers are little endian. A header's checksum covers the 28 bytes before it, in every version. A record's checksum
 * covers everything from `kind` on and is seeded with the segment's salt, a random number in the file name. Programs
 * can print whole records of another journal, and a search through damaged bytes must not take those for events. The
 * same holds for old bytes after the last record in a reused file.
 */

import type { Event, LogPosition } from "../core/log/event.ts";
import { crc32c } from "../native/addon.ts";
import type { Exit, Stream } from "../words/state.ts";

export const VERSION = 1;
export const HEADER_BYTES = 32;
export const RECORD_HEADER_BYTES = 34;

/** A longer body is not ours. */
const MAX_BODY_BYTES = 2 ** 30;
/** Up to this size, copying a body next to its header is cheaper than writing another piece. */
const COPIED_BYTES = 2048;

const MAGIC = Buffer.from("HAWSERJ\n", "latin1");
/**
 * Indexes in these tables are stored on disk: append only. Zero is unused, so that zeroed blocks are not valid records.
 */
const KINDS = [undefined, "output", "resized", "exited", "closed", "lost"] as const;
const STREAMS = [undefined, "stdout", "stderr", "pty"] as const satisfies readonly (Stream | undefined)[];

/** The content of a segment's file name. */
export type SegmentName = { readonly name: string; readonly start: LogPosition; readonly salt: number };

/** A name for a new segment that begins with the event at `start`. Names sort in the order of the segments. */
export function nameSegment(start: LogPosition, salt: number = newSalt()): SegmentName {
	const [seq, offset] = [start.seq, start.offset].map((number) => String(number).padStart(16, "0"));
	return { name: `${seq}-${offset}-${salt.toString(16).padStart(8, "0")}.journal`, start, salt };
}

/** Programs can't know it. Not from `node:crypto`, which would cost every keeper half a megabyte. */
function newSalt(): number {
	return Math.floor(Math.random() * 2 ** 32);
}

/** Undefined if the file is not a segment. */
export function parseSegmentName(name: string): SegmentName | undefined {
	const [, seq, offset, salt] = /^(\d{16})-(\d{16})-([0-9a-f]{8})\.journal$/.exec(name) ?? [];
	if (seq === undefined || offset === undefined || salt === undefined) return undefined;
	return { name, start: { seq: Number(seq), offset: Number(offset) }, salt: Number.parseInt(salt, 16) };
}

export function encodeHeader(start: LogPosition): Uint8Array {
	const header = Buffer.alloc(HEADER_BYTES);
	MAGIC.copy(header);
	header.writeUInt16LE(VERSION, 8);
	writeU64(header, start.seq, 12);
	writeU64(header, start.offset, 20);
	header.writeUInt32LE(crc32c(header.subarray(0, 28)), 28);
	return header;
}

/** Undefined for a damaged header. The version may be unsupported. */
export function decodeHeader(header: Buffer): { readonly version: number; readonly start: LogPosition } | undefined {
	if (header.length < HEADER_BYTES || !header.subarray(0, 8).equals(MAGIC)) return undefined;
	if (crc32c(header.subarray(0, 28)) !== header.readUInt32LE(28)) return undefined;
	return { version: header.readUInt16LE(8), start: { seq: readU64(header, 12), offset: readU64(header, 20) } };
}

/** Encoded records: their pieces in order, and the end of each record. */
type Batch = { readonly pieces: readonly Uint8Array[]; readonly ends: readonly number[] };

/** Encodes as many events as fit into `room` bytes, but at least one. Large output is not copied. */
export function encodeRecords(events: readonly Event[], salt: number, room: number): Batch {
	const bodies: Uint8Array[] = [];
	const ends: number[] = [];
	let end = 0;
	let arenaBytes = 0;
	for (const event of events) {
		const body = encodeBody(event);
		if (bodies.length > 0 && end + RECORD_HEADER_BYTES + body.byteLength > room) break;
		bodies.push(body);
		end += RECORD_HEADER_BYTES + body.byteLength;
		ends.push(end);
		arenaBytes += RECORD_HEADER_BYTES + (body.byteLength > COPIED_BYTES ? 0 : body.byteLength);
	}

	const arena = Buffer.allocUnsafe(arenaBytes);
	const pieces: Uint8Array[] = [];
	let pieceStart = 0;
	let at = 0;
	for (const [index, body] of bodies.entries()) {
		const start = at;
		writeRecordHeader(arena, start, events[index] as Event, body.byteLength);
		at += RECORD_HEADER_BYTES;
		if (body.byteLength <= COPIED_BYTES) {
			arena.set(body, at);
			at += body.byteLength;
			arena.writeUInt32LE(crc32c(arena.subarray(start + 8, at), salt), start + 4);
			continue;
		}
		arena.writeUInt32LE(crc32c(body, crc32c(arena.subarray(start + 8, at), salt)), start + 4);
		pieces.push(arena.subarray(pieceStart, at), body);
		pieceStart = at;
	}
	if (at > pieceStart) pieces.push(arena.subarray(pieceStart, at));
	return { pieces, ends };
}

export type Decoded = { readonly event: Event; readonly size: number };

/**
 * Decodes the record at a position. `short` if it extends past the bytes, `bad` if there is none, `wrong` if only its
 * checksum does not match. Output shares memory with `bytes`.
 */
export function decodeRecord(bytes: Buffer, at: number, salt: number): Decoded | "short" | "bad" | "wrong" {
	if (at + RECORD_HEADER_BYTES > bytes.length) return "short";
	const kind = KINDS[bytes[at + 8] as number];
	if (kind === undefined) return "bad";
	const stream = bytes[at + 9] as number;
	if (kind === "output" ? STREAMS[stream] === undefined : stream !== 0) return "bad";
	const bodyBytes = bytes.readUInt32LE(at);
	if (bodyBytes > MAX_BODY_BYTES) return "bad";
	const [seq, offset] = [readU64(bytes, at + 10), readU64(bytes, at + 18)];
	if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(offset)) return "bad";
	const end = at + RECORD_HEADER_BYTES + bodyBytes;
	if (end > bytes.length) return "short";
	if (crc32c(bytes.subarray(at + 8, end), salt) !== bytes.readUInt32LE(at + 4)) return "wrong";
	const position = { seq, offset, time: bytes.readDoubleLE(at + 26) };
	return {
		event: decodeBody(kind, STREAMS[stream], bytes.subarray(at + RECORD_HEADER_BYTES, end), position),
		size: end - at,
	};
}

/** The length that the record at a position claims to have, if that is loaded. */
export function claimedBytes(bytes: Buffer, at: number): number | undefined {
	return at + 4 <= bytes.length ? RECORD_HEADER_BYTES + bytes.readUInt32LE(at) : undefined;
}

/** The position after an event. */
export function positionAfter(event: Event): LogPosition {
	return { seq: event.seq + 1, offset: event.offset + (event.kind === "output" ? event.bytes.byteLength : 0) };
}

function writeRecordHeader(arena: Buffer, at: number, event: Event, bodyBytes: number): void {
	arena.writeUInt32LE(bodyBytes, at);
	arena[at + 8] = KINDS.indexOf(event.kind);
	arena[at + 9] = event.kind === "output" ? STREAMS.indexOf(event.stream) : 0;
	writeU64(arena, event.seq, at + 10);
	writeU64(arena, event.offset, at + 18);
	arena.writeDoubleLE(event.time, at + 26);
}

function encodeBody(event: Event): Uint8Array {
	switch (event.kind) {
		case "output":
			return event.bytes;
		case "resized": {
			const body = Buffer.allocUnsafe(8);
			body.writeUInt32LE(event.size.cols, 0);
			body.writeUInt32LE(event.size.rows, 4);
			return body;
		}
		case "exited":
			return Buffer.from(JSON.stringify(event.exit));
		case "closed":
			return Buffer.alloc(event.isCutShort ? 1 : 0);
		case "lost":
			return Buffer.from(event.message);
	}
}

type TimedPosition = LogPosition & { readonly time: number };

function decodeBody(kind: Event["kind"], stream: Stream | undefined, body: Buffer, position: TimedPosition): Event {
	switch (kind) {
		case "output":
			// A plain Uint8Array, as backends create them. The caller has checked `stream`.
			return {
				kind,
				stream: stream as Stream,
				bytes: new Uint8Array(body.buffer, body.byteOffset, body.length),
				...position,
			};
		case "resized":
			return { kind, size: { cols: body.readUInt32LE(0), rows: body.readUInt32LE(4) }, ...position };
		case "exited":
			return { kind, exit: JSON.parse(body.toString()) as Exit, ...position };
		case "closed":
			return { kind, ...(body.length > 0 ? { isCutShort: true } : {}), ...position };
		case "lost":
			return { kind, message: body.toString(), ...position };
	}
}

/** In two halves, because BigInt would cost more than the rest of the header. */
function writeU64(bytes: Buffer, value: number, at: number): void {
	bytes.writeUInt32LE(value >>> 0, at);
	bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

function readU64(bytes: Buffer, at: number): number {
	return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
}
