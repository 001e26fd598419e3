/** Reads the escape sequences in a terminal's output by the rules of xterm's parser, however the bytes are split. */

import { C1_LEAD, isC1, type Skim, skim } from "./skim.ts";

/**
 * Longer sequences, in bytes, are skipped. Relevant ones are much shorter.
 * @limit an escape sequence | it is skipped
 */
export const SEQUENCE_BYTES = 4096;
/** Longest incomplete UTF-8 character. */
const CHARACTER_BYTES = 3;
/** Plain output is first searched here this far, in bytes. Beyond it a call of the addon is cheaper. */
const NEAR_BYTES = 64;

/**
 * The parser's state: after the first byte of a C1, after an escape, in the middle of a short sequence or of a CSI, in
 * an OSC or another string, and after the escape that ends one of them.
 */
type Within = "ground" | "c1" | "escape" | "intermediate" | "csi" | "osc" | "string" | "end";

/** Output offsets of a sequence. */
export type SequenceRange = { readonly offset: number; readonly end: number };

/** Callbacks for sequences that are not plain. Plain ones are reported only where a piece ends within them. */
export type SequenceListener = {
	readonly onBell: () => void;
	/** An escape followed by this byte. */
	readonly onEscape: (final: number, place: SequenceRange) => void;
	/** The whole sequence. The bytes are valid only during the call. */
	readonly onCsi: (sequence: Uint8Array, place: SequenceRange) => void;
	/** An OSC, DCS, SOS, PM or APC in the form of `textOf`, and its terminator, which is "" if another sequence ended it. */
	readonly onString: (text: string, place: SequenceRange, terminator: string) => void;
};

const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const DEL = 0x7f;
/** The second byte of ST as a C1. */
const C1_ST = 0x9c;
const BACKSLASH = 0x5c;
const NOTHING = new Uint8Array();
/** Bytes after an escape that begin a CSI, an OSC, or a DCS, SOS, PM or APC. */
const INTRODUCERS: ReadonlyMap<number, Within> = new Map<number, Within>([
	[0x5b, "csi"],
	[0x5d, "osc"],
	[0x50, "string"],
	[0x58, "string"],
	[0x5e, "string"],
	[0x5f, "string"],
]);
/** Control characters, which have no meaning inside a sequence. */
const CONTROLS = /[\u0000-\u001f\u007f]/g;

export class SequenceReader {
	readonly #listener: SequenceListener;
	readonly #skim: Skim;
	#within: Within = "ground";
	#offset: number;
	/** Start of the current sequence. */
	#ground: number;
	/** The bytes of earlier pieces from there on, up to `SEQUENCE_BYTES`. */
	#pending: Uint8Array = NOTHING;
	/** The last byte of the previous piece. */
	#last = 0;

	/** Starts between characters and sequences. */
	constructor(offset: number, listener: SequenceListener, skimming: Skim = skim) {
		this.#offset = offset;
		this.#ground = offset;
		this.#listener = listener;
		this.#skim = skimming;
	}

	/** Offset of the next byte. */
	get offset(): number {
		return this.#offset;
	}

	/** The last offset between characters and sequences; equal to `offset` if the terminal is there now. */
	get ground(): number {
		return this.#ground;
	}

	/** The bytes from `ground` on, one character per byte; null if there are more than `SEQUENCE_BYTES`. */
	get pending(): string | null {
		return this.#offset - this.#ground === this.#pending.byteLength ? latin1(this.#pending) : null;
	}

	/** Skips bytes that are lost. The current sequence ends. */
	skipTo(offset: number): void {
		this.#offset = offset;
		this.#leave(0);
	}

	/** Takes the next bytes of the output. */
	feed(bytes: Uint8Array): void {
		if (bytes.byteLength === 0) return;
		for (let at = 0; at < bytes.byteLength; ) {
			at = this.#within === "ground" ? this.#passControl(bytes, this.#passPlain(bytes, at)) : this.#pass(bytes, at);
		}
		this.#keepPending(bytes);
		this.#offset += bytes.byteLength;
		this.#last = bytes[bytes.byteLength - 1] ?? 0;
	}

	#passPlain(bytes: Uint8Array, from: number): number {
		const near = Math.min(from + NEAR_BYTES, bytes.byteLength);
		const at = skim(bytes, from, near);
		return at < near || at === bytes.byteLength ? at : this.#skim(bytes, at);
	}

	/** Handles the control byte after plain output, if the piece has one. */
	#passControl(bytes: Uint8Array, at: number): number {
		if (at === bytes.byteLength) return at;
		const control = bytes[at] ?? 0;
		if (control === BEL) {
			this.#listener.onBell();
			return this.#leave(at + 1);
		}
		this.#begin(control === ESC ? "escape" : "c1", at);
		return at + 1;
	}

	/** Reads to the end of the current sequence or of the piece. */
	#pass(bytes: Uint8Array, from: number): number {
		for (let at = from; at < bytes.byteLength; at++) {
			const byte = bytes[at] ?? 0;
			if (this.#within === "end") {
				const isTerminator = byte === BACKSLASH;
				this.#emitString(bytes, at - 1, isTerminator ? at + 1 : at - 1, isTerminator ? "\u001b\\" : "");
				if (isTerminator) return this.#leave(at + 1);
				this.#begin("escape", at - 1);
			}
			const isInString = this.#within === "osc" || this.#within === "string";
			if (byte === ESC) {
				if (isInString) this.#within = "end";
				else this.#begin("escape", at);
			} else if (byte === CAN || byte === SUB) {
				return this.#leave(at + 1);
			} else if (isC1(byte) && (at > 0 ? bytes[at - 1] : this.#last) === C1_LEAD) {
				if (isInString) this.#emitString(bytes, at - 1, at + 1, byte === C1_ST ? "\u00c2\u009c" : "");
				this.#begin("escape", at - 1);
				if (!this.#introduce(byte - 0x40)) return this.#leave(at + 1);
			} else if (isInString) {
				if (byte !== BEL || this.#within !== "osc") continue;
				this.#emitString(bytes, at, at + 1, "\u0007");
				return this.#leave(at + 1);
			} else if (this.#within === "c1") {
				return this.#leave(at);
			} else if (byte > DEL && byte !== C1_LEAD) {
				// A text character, which can't be part of a sequence.
				return this.#leave(at);
			} else if (byte >= 0x20 && byte < DEL && this.#isLast(byte)) {
				this.#emit(bytes, at + 1);
				return this.#leave(at + 1);
			}
		}
		return bytes.byteLength;
	}

	/** Whether this byte ends a short sequence or a CSI. */
	#isLast(byte: number): boolean {
		if (this.#within === "csi") return byte >= 0x40;
		if (byte < 0x30) {
			this.#within = "intermediate";
			return false;
		}
		return this.#within === "intermediate" || !this.#introduce(byte);
	}

	/** Whether an escape and this byte begin a longer sequence. */
	#introduce(byte: number): boolean {
		const introduced = INTRODUCERS.get(byte);
		if (introduced) this.#within = introduced;
		return introduced !== undefined;
	}

	/** Starts a sequence in this piece, or with the last byte of the previous one. */
	#begin(within: Within, at: number): void {
		this.#within = within;
		this.#ground = this.#offset + at;
		this.#pending = at < 0 ? Uint8Array.of(this.#last) : NOTHING;
	}

	#leave(at: number): number {
		this.#within = "ground";
		this.#ground = this.#offset + at;
		this.#pending = NOTHING;
		return at;
	}

	/** Keeps what the next piece needs: the current sequence, or the beginning of a character. */
	#keepPending(bytes: Uint8Array): void {
		const begin = this.#ground - this.#offset;
		if (this.#within === "ground") {
			const isShort = begin < 0 && bytes.byteLength < CHARACTER_BYTES;
			const newest = bytes.subarray(Math.max(0, begin, bytes.byteLength - CHARACTER_BYTES));
			const text = isShort ? joined(this.#pending, bytes) : newest;
			this.#pending = text.slice(text.byteLength - unfinishedCharacter(text));
			this.#ground = this.#offset + bytes.byteLength - this.#pending.byteLength;
		} else if (begin >= 0) this.#pending = bytes.slice(begin, begin + SEQUENCE_BYTES);
		else this.#pending = joined(this.#pending, bytes.subarray(0, SEQUENCE_BYTES - this.#pending.byteLength));
	}

	/** Reports a complete short sequence or CSI that ends before `end`. */
	#emit(bytes: Uint8Array, end: number): void {
		const place = { offset: this.#ground, end: this.#offset + end };
		if (this.#within === "escape") this.#listener.onEscape(bytes[end - 1] ?? 0, place);
		const sequence = this.#within === "csi" && this.#sequence(bytes, end);
		if (sequence) this.#listener.onCsi(sequence, place);
	}

	/** Reports a string. Its text ends before `textEnd`, the sequence before `end`. */
	#emitString(bytes: Uint8Array, textEnd: number, end: number, terminator: string): void {
		const sequence = this.#sequence(bytes, textEnd);
		const place = { offset: this.#ground, end: this.#offset + end };
		if (sequence) this.#listener.onString(textOf(sequence), place, terminator);
	}

	/** The bytes of the current sequence up to `end` of this piece; undefined if there are too many. */
	#sequence(bytes: Uint8Array, end: number): Uint8Array | undefined {
		const begin = this.#ground - this.#offset;
		if (end - begin > SEQUENCE_BYTES) return undefined;
		if (begin >= 0) return bytes.subarray(begin, end);
		return joined(this.#pending, bytes.subarray(0, Math.max(0, end))).subarray(0, end - begin);
	}
}

/** A sequence with one character per byte: ESC and the rest, without control characters in the middle. */
export function textOf(sequence: Uint8Array): string {
	const text = latin1(sequence);
	const letter = text.startsWith("\u001b") ? text.charAt(1) : String.fromCharCode(text.charCodeAt(1) - 0x40);
	return `\u001b${letter}${text.slice(2).replace(CONTROLS, "")}`;
}

/** Number of bytes at the end that begin an incomplete character. */
function unfinishedCharacter(text: Uint8Array): number {
	for (let length = 1; length <= Math.min(CHARACTER_BYTES, text.byteLength); length++) {
		const byte = text[text.byteLength - length] ?? 0;
		if (byte < 0x80) return 0;
		if (byte < 0xc0) continue;
		const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
		return length < needed ? length : 0;
	}
	return 0;
}

function latin1(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
	const all = new Uint8Array(first.byteLength + second.byteLength);
	all.set(first);
	all.set(second, first.byteLength);
	return all;
}
