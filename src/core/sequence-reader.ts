/** Reads the escape sequences in a terminal's output, by the rules of xterm's parser, however its bytes are cut. */

import { C1_LEAD, isC1, type Skim, skim } from "./skim.ts";

/** Longer sequences, in bytes, are passed over as a whole: nothing that is of interest comes near. */
export const SEQUENCE_BYTES = 4096;
/** Of a character in UTF-8, as many as may come without its last one. */
const CHARACTER_BYTES = 3;
/** Plain output is looked through here this far, in bytes; from there on a call of the addon costs less than it saves. */
const NEAR_BYTES = 64;

/**
 * Where the next byte falls: after the first byte of a C1, after an escape, in the middle of a short sequence or of a
 * CSI, in an OSC or another string, and after the escape that ends one of them.
 */
type Within = "ground" | "c1" | "escape" | "intermediate" | "csi" | "osc" | "string" | "end";

/** Of a sequence, as offsets of the output. */
export type Place = { readonly offset: number; readonly end: number };

/** Hears of what is not plain; of plain sequences only where they were cut. */
export type SequenceListener = {
	readonly onBell: () => void;
	/** An escape and this byte. */
	readonly onEscape: (final: number, place: Place) => void;
	/** All of its bytes, which are good for the moment. */
	readonly onCsi: (sequence: Uint8Array, place: Place) => void;
	/** An OSC, DCS, SOS, PM or APC, as `textOf` has it, without its end. */
	readonly onString: (text: string, place: Place) => void;
};

const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const DEL = 0x7f;
const BACKSLASH = 0x5c;
const NOTHING = new Uint8Array();
/** What begins with an escape and this byte: CSI, OSC, and DCS, SOS, PM, APC. */
const INTRODUCERS: ReadonlyMap<number, Within> = new Map<number, Within>([
	[0x5b, "csi"],
	[0x5d, "osc"],
	[0x50, "string"],
	[0x58, "string"],
	[0x5e, "string"],
	[0x5f, "string"],
]);
/** They have no meaning inside a sequence. */
const CONTROLS = /[\u0000-\u001f\u007f]/g;

export class SequenceReader {
	readonly #hears: SequenceListener;
	readonly #skim: Skim;
	#within: Within = "ground";
	#offset: number;
	/** While a sequence is under way, where it begins. */
	#ground: number;
	/** What earlier pieces had from there on, up to `SEQUENCE_BYTES`. */
	#pending: Uint8Array = NOTHING;
	/** The last byte of the piece before. */
	#last = 0;

	/** Begins between characters and sequences. */
	constructor(offset: number, hears: SequenceListener, skimming: Skim = skim) {
		this.#offset = offset;
		this.#ground = offset;
		this.#hears = hears;
		this.#skim = skimming;
	}

	/** Where the next byte will stand. */
	get offset(): number {
		return this.#offset;
	}

	/** Where the terminal was last between characters and sequences; `offset`, if it is there now. */
	get ground(): number {
		return this.#ground;
	}

	/** The bytes from there on, one character for each; null if they are more than `SEQUENCE_BYTES`. */
	get pending(): string | null {
		return this.#offset - this.#ground === this.#pending.byteLength ? latin1(this.#pending) : null;
	}

	/** The bytes up to there can't be had: what was under way is over. */
	skipTo(offset: number): void {
		this.#offset = offset;
		this.#leave(0);
	}

	/** The next bytes of the output. */
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

	/** What comes after plain output, if anything does in this piece. */
	#passControl(bytes: Uint8Array, at: number): number {
		if (at === bytes.byteLength) return at;
		const control = bytes[at] ?? 0;
		if (control === BEL) {
			this.#hears.onBell();
			return this.#leave(at + 1);
		}
		this.#begin(control === ESC ? "escape" : "c1", at);
		return at + 1;
	}

	/** To the end of the sequence that is under way, or of the piece. */
	#pass(bytes: Uint8Array, from: number): number {
		for (let at = from; at < bytes.byteLength; at++) {
			const byte = bytes[at] ?? 0;
			if (this.#within === "end") {
				const isTerminator = byte === BACKSLASH;
				this.#tellString(bytes, at - 1, isTerminator ? at + 1 : at - 1);
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
				if (isInString) this.#tellString(bytes, at - 1, at + 1);
				this.#begin("escape", at - 1);
				if (!this.#introduce(byte - 0x40)) return this.#leave(at + 1);
			} else if (isInString) {
				if (byte !== BEL || this.#within !== "osc") continue;
				this.#tellString(bytes, at, at + 1);
				return this.#leave(at + 1);
			} else if (this.#within === "c1") {
				return this.#leave(at);
			} else if (byte > DEL && byte !== C1_LEAD) {
				// A character of text, which has no place in a sequence.
				return this.#leave(at);
			} else if (byte >= 0x20 && byte < DEL && this.#isLast(byte)) {
				this.#tell(bytes, at + 1);
				return this.#leave(at + 1);
			}
		}
		return bytes.byteLength;
	}

	/** Whether a short sequence or a CSI ends with this byte. */
	#isLast(byte: number): boolean {
		if (this.#within === "csi") return byte >= 0x40;
		if (byte < 0x30) {
			this.#within = "intermediate";
			return false;
		}
		return this.#within === "intermediate" || !this.#introduce(byte);
	}

	/** Whether a longer sequence begins with an escape and this byte. */
	#introduce(byte: number): boolean {
		const introduced = INTRODUCERS.get(byte);
		if (introduced) this.#within = introduced;
		return introduced !== undefined;
	}

	/** A sequence begins in this piece, or with the last byte of the piece before. */
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

	/** What the next piece has to know of this one: the sequence that is under way, or the beginning of a character. */
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

	/** A short sequence or a CSI is complete, and ends before `end`. */
	#tell(bytes: Uint8Array, end: number): void {
		const place = { offset: this.#ground, end: this.#offset + end };
		if (this.#within === "escape") this.#hears.onEscape(bytes[end - 1] ?? 0, place);
		const sequence = this.#within === "csi" && this.#sequence(bytes, end);
		if (sequence) this.#hears.onCsi(sequence, place);
	}

	/** A string whose text ends before `textEnd`, and the sequence itself before `end`. */
	#tellString(bytes: Uint8Array, textEnd: number, end: number): void {
		const sequence = this.#sequence(bytes, textEnd);
		if (sequence) this.#hears.onString(textOf(sequence), { offset: this.#ground, end: this.#offset + end });
	}

	/** The bytes of the sequence that is under way, up to `end` of this piece; undefined if they are too many. */
	#sequence(bytes: Uint8Array, end: number): Uint8Array | undefined {
		const begin = this.#ground - this.#offset;
		if (end - begin > SEQUENCE_BYTES) return undefined;
		if (begin >= 0) return bytes.subarray(begin, end);
		return joined(this.#pending, bytes.subarray(0, Math.max(0, end))).subarray(0, end - begin);
	}
}

/** A sequence, one character for each byte: ESC and what follows, without controls in the middle. */
export function textOf(sequence: Uint8Array): string {
	const text = latin1(sequence);
	const letter = text.startsWith("\u001b") ? text.charAt(1) : String.fromCharCode(text.charCodeAt(1) - 0x40);
	return `\u001b${letter}${text.slice(2).replace(CONTROLS, "")}`;
}

/** How many bytes at the end begin a character whose rest has not come. */
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
