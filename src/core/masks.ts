/**
 * Values that must not be in a session's output, such as passwords that were typed into it: wherever one comes, as it is
 * or in a form in which programs print such things, it is overwritten by as many `*`. What was written is as long as
 * before, so that every place in it stays the same, and nobody ever has the value.
 *
 * A value may come in parts. What could be the beginning of one is held back for a moment, until it is known.
 *
 * What is looked for has to be known for as long as the session lives. It is kept veiled, and seen only while output is
 * looked at; strings, which nobody can overwrite, are never made of it.
 */

import { SessionError } from "./errors.ts";
import { outsideHeap } from "./outside-heap.ts";

/** A shorter one would be found in what has nothing to do with it. */
const SHORTEST_BYTES = 6;
/** More values than people type into one session; each makes what follows a little slower to write. */
const MOST_VALUES = 64;

const STAR = 0x2a;
const NOTHING = Buffer.alloc(0);

export class Masks {
	/** What is looked for: each value in all its forms. */
	#forms: Veiled[] = [];
	#values = 0;
	/** The end of what came last, which may be the beginning of one: as it was written, and as it may be seen. */
	#held: Buffer = NOTHING;
	#seen: Buffer = NOTHING;

	get isHolding(): boolean {
		return this.#held.byteLength > 0;
	}

	add(value: Uint8Array): void {
		const forms = formsOf(value);
		try {
			const isKnown = (form: Buffer) => this.#forms.some((known) => known.use((bytes) => bytes.equals(form)));
			const isNew = (form: Buffer, index: number) =>
				!isKnown(form) && forms.findIndex((other) => other.equals(form)) === index;
			const added = forms.filter((form, index) => form.byteLength >= SHORTEST_BYTES && isNew(form, index));
			if (added.length === 0) return;
			if (this.#values >= MOST_VALUES) {
				throw new SessionError("limit_exceeded", `${MOST_VALUES} secrets were typed into this session already`, {
					hint: "start a new session",
				});
			}
			this.#values++;
			this.#forms.push(...added.map((form) => new Veiled(form)));
		} finally {
			for (const form of forms) form.fill(0);
		}
	}

	/** What may be seen of the output so far; the end of it may have to wait for what comes next. What was given is overwritten where it was a value. */
	take(bytes: Uint8Array): Uint8Array {
		if (this.#forms.length === 0) return bytes;
		const all = Buffer.concat([this.#held, bytes]);
		const places: Place[] = [];
		let begun = 0;
		for (const form of this.#forms) {
			form.use((value) => {
				places.push(...placesOf(all, value));
				begun = Math.max(begun, begunAtEnd(all, value));
			});
		}
		let known = all.byteLength - begun;
		const seen = Buffer.from(all);
		for (const { from, to } of places) seen.fill(STAR, from, to);
		// One of them may go on in another: what is held is held from its beginning on.
		for (const { from, to } of places.sort((one, other) => other.to - one.to))
			if (from < known && known < to) known = from;
		const before = this.#held;
		this.#held = Buffer.from(all.subarray(known));
		this.#seen = seen.subarray(known);
		// What was written may have a value in it, and nobody needs it any more.
		for (const written of [before, all, bytes]) if (begun > 0 || places.length > 0) written.fill(0);
		return seen.subarray(0, known);
	}

	/** What was held back: nothing follows, or not soon enough. */
	release(): Uint8Array {
		const seen = this.#seen;
		this.#held.fill(0);
		this.#held = NOTHING;
		this.#seen = NOTHING;
		return seen;
	}
}

/** Bytes that are as they are only while they are used: else as many random ones lie over them. */
class Veiled {
	readonly #veil: Buffer;
	readonly #bytes: Buffer;

	constructor(bytes: Uint8Array) {
		this.#veil = crypto.getRandomValues(outsideHeap(bytes.byteLength));
		this.#bytes = over(this.#veil, bytes);
	}

	use<Answer>(act: (bytes: Buffer) => Answer): Answer {
		const bytes = over(this.#veil, this.#bytes);
		try {
			return act(bytes);
		} finally {
			bytes.fill(0);
		}
	}
}

function over(veil: Uint8Array, bytes: Uint8Array): Buffer {
	const result = outsideHeap(bytes.byteLength);
	for (const [index, byte] of bytes.entries()) result[index] = byte ^ (veil[index] ?? 0);
	return result;
}

type Place = { readonly from: number; readonly to: number };

function placesOf(all: Buffer, form: Buffer): Place[] {
	const places: Place[] = [];
	for (let at = all.indexOf(form); at >= 0; at = all.indexOf(form, at + form.byteLength))
		places.push({ from: at, to: at + form.byteLength });
	return places;
}

/** How many bytes at the end may be the beginning of it. */
function begunAtEnd(all: Buffer, form: Buffer): number {
	const [first = 0] = form;
	const from = Math.max(0, all.byteLength - form.byteLength + 1);
	for (let at = all.indexOf(first, from); at >= 0; at = all.indexOf(first, at + 1)) {
		const length = all.byteLength - at;
		if (all.compare(form, 0, length, at) === 0) return length;
	}
	return 0;
}

/** As it is, and as programs write it: in base64 wherever it begins, in hexadecimals, in an address, in JSON, in a shell. */
function formsOf(value: Uint8Array): Buffer[] {
	const base64 = [0, 1, 2].flatMap((shift) => ["+/", "-_"].flatMap((last) => inBase64(value, shift, last)));
	const addresses = ADDRESS_PLAIN.flatMap((plain) => [LOWER, UPPER].map((digits) => inAddress(value, plain, digits)));
	return [
		joined(value, (byte) => [byte]),
		...base64,
		joined(value, (byte) => hex(byte, LOWER)),
		joined(value, (byte) => hex(byte, UPPER)),
		...addresses,
		joined(value, inJson),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, BACKSLASH, QUOTE, QUOTE] : [byte])),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, DOUBLE_QUOTE, QUOTE, DOUBLE_QUOTE, QUOTE] : [byte])),
		// The bytes of a character that follow its first one stay with it.
		joined(value, (byte) => (isOneOf(byte, SHELL_PLAIN) || (byte & 0xc0) === 0x80 ? [byte] : [BACKSLASH, byte])),
	];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER = "0123456789abcdef";
const UPPER = "0123456789ABCDEF";
/** What is left as it is by `encodeURIComponent`, by RFC 3986, by Python's `quote`, and by forms, in browsers and in Python, which write a space as `+`. */
const ADDRESS_PLAIN = ["-_.!~*'()", "-_.~", "-_.~/", "-_.* ", "-_.~ "].map((others) => `${LETTERS}${others}`);
/** What needs no quotes in a shell. */
const SHELL_PLAIN = `${LETTERS}_./:=@%+,-`;
const PERCENT = 0x25;
const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const PLUS = 0x2b;

function joined(value: Uint8Array, written: (byte: number) => readonly number[]): Buffer {
	return Buffer.concat(Array.from(value, (byte) => Uint8Array.from(written(byte))));
}

function isOneOf(byte: number, characters: string): boolean {
	return byte < 0x80 && characters.includes(String.fromCharCode(byte));
}

function hex(byte: number, digits: string): number[] {
	return [digits.charCodeAt(byte >> 4), digits.charCodeAt(byte & 15)];
}

function inAddress(value: Uint8Array, plain: string, digits: string): Buffer {
	return joined(value, (byte) => {
		if (!isOneOf(byte, plain)) return [PERCENT, ...hex(byte, digits)];
		return [byte === SPACE ? PLUS : byte];
	});
}

/** A secret has no control characters. */
function inJson(byte: number): readonly number[] {
	return byte === DOUBLE_QUOTE || byte === BACKSLASH ? [BACKSLASH, byte] : [byte];
}

/** If it begins so many bytes after a group of three: what of it is the same whatever stands around it, and with its last bits, if nothing or a line feed follows. */
function inBase64(value: Uint8Array, shift: number, last: string): Buffer[] {
	const alphabet = `${LETTERS}${last}`;
	const at = (index: number) => value[index - shift] ?? 0;
	const digits = ((shift + value.byteLength) * 8) / 6;
	const written = outsideHeap(Math.ceil(digits));
	for (let digit = 0; digit < written.byteLength; digit++) {
		const group = Math.floor(digit / 4) * 3;
		const bits = (at(group) << 16) | (at(group + 1) << 8) | at(group + 2);
		written[digit] = alphabet.charCodeAt((bits >> (18 - (digit % 4) * 6)) & 63);
	}
	const from = [0, 2, 3][shift];
	return [written.subarray(from, Math.floor(digits)), written.subarray(from)];
}
