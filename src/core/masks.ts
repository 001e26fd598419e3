/**
 * Values that must not be in a session's output, such as passwords that were typed into it: wherever one comes, as it is
 * or in a form in which programs print such things, it is overwritten by as many `*`. What was written is as long as
 * before, so that every place in it stays the same, and nobody ever has the value.
 *
 * A value may come in parts. What could be the beginning of one is held back for a moment, until it is known. It may
 * also be broken into lines, as programs that encode something do: line ends are passed over, and stay.
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

/** What a terminal makes of the end of a line that ends with both already; as many bytes more are an empty line, and end a value. */
const LONGEST_LINE_END_BYTES = 3;

const STAR = 0x2a;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
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
		const { unbroken, placeOf } = withoutLineEnds(all);
		const places: Place[] = [];
		let begun = 0;
		for (const form of this.#forms) {
			form.use((value) => {
				places.push(...placesOf(unbroken, value));
				begun = Math.max(begun, begunAtEnd(unbroken, value));
			});
		}
		let from = unbroken.byteLength - begun;
		const seen = Buffer.from(all);
		for (const place of places) for (let at = place.from; at < place.to; at++) seen[placeOf(at)] = STAR;
		// One of them may go on in another: what is held is held from its beginning on.
		for (const place of places.sort((one, other) => other.to - one.to))
			if (place.from < from && from < place.to) from = place.from;
		const known = begun > 0 ? placeOf(from) : all.byteLength;
		const before = this.#held;
		this.#held = Buffer.from(all.subarray(known));
		this.#seen = seen.subarray(known);
		// What was written may have a value in it, and nobody needs it any more.
		for (const written of [before, all, unbroken, bytes]) if (begun > 0 || places.length > 0) written.fill(0);
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

/** The same as one line, but for empty ones, and where each byte of it was. */
function withoutLineEnds(all: Buffer): { readonly unbroken: Buffer; readonly placeOf: (at: number) => number } {
	if (!all.includes(LINE_FEED) && !all.includes(RETURN)) return { unbroken: all, placeOf: (at) => at };
	const unbroken = outsideHeap(all.byteLength);
	const places = new Uint32Array(all.byteLength);
	let length = 0;
	let ends = 0;
	for (let place = 0; place < all.byteLength; place++) {
		const byte = all[place] ?? 0;
		ends = byte === LINE_FEED || byte === RETURN ? ends + 1 : 0;
		// No value goes on behind the one that is left of many.
		if (ends > 0 && ends !== LONGEST_LINE_END_BYTES + 1) continue;
		unbroken[length] = byte;
		places[length++] = place;
	}
	return { unbroken: unbroken.subarray(0, length), placeOf: (at) => places[at] ?? all.byteLength };
}

type Place = { readonly from: number; readonly to: number };

/** Where it is, also in parts that overlap: one that repeats itself, as `abcabcab`, may begin again before it ends. */
function placesOf(all: Buffer, form: Buffer): Place[] {
	const places: Place[] = [];
	const { byteLength } = form;
	let from = all.indexOf(form);
	// What begins after less than half of it goes on by its period, and is taken in one place: no byte is looked at often.
	const period = from < 0 ? byteLength : periodOf(form);
	while (from >= 0) {
		let to = from + byteLength;
		while (to + period <= all.byteLength && all.compare(all, to, to + period, to - period, to) === 0) to += period;
		places.push({ from, to });
		from = all.indexOf(form, to - byteLength + 1);
	}
	return places;
}

/** After how many bytes it is the same again; as many as it has, if it never is. */
function periodOf(form: Buffer): number {
	let period = 1;
	while (form.compare(form, 0, form.byteLength - period, period) !== 0) period++;
	return period;
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

/** As it is, and as programs write it: in base64 wherever it begins, in hexadecimals, in an address, in JSON, in a shell, in Python. */
function formsOf(value: Uint8Array): Buffer[] {
	const base64 = [0, 1, 2].flatMap((shift) => ["+/", "-_"].flatMap((last) => inBase64(value, shift, last)));
	const addresses = ADDRESS_PLAIN.flatMap((plain) => [LOWER, UPPER].map((digits) => inAddress(value, plain, digits)));
	return [
		joined(value, (byte) => [byte]),
		...base64,
		joined(value, (byte) => hex(byte, LOWER)),
		joined(value, (byte) => hex(byte, UPPER)),
		...addresses,
		...BY_NUMBER.map((isByNumber) => inJson(value, isByNumber)),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, BACKSLASH, QUOTE, QUOTE] : [byte])),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, DOUBLE_QUOTE, QUOTE, DOUBLE_QUOTE, QUOTE] : [byte])),
		joined(value, (byte) => (isOneOf(byte, SHELL_PLAIN) || byte >= 0x80 ? [byte] : [BACKSLASH, byte])),
		...ESCAPED.map((escaped) => joined(value, (byte) => (isOneOf(byte, escaped) ? [BACKSLASH, byte] : [byte]))),
	];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER = "0123456789abcdef";
const UPPER = "0123456789ABCDEF";
/** What is left as it is by `encodeURIComponent`, by RFC 3986, by Python's `quote`, and by forms, in browsers and in Python, which write a space as `+`. */
const ADDRESS_PLAIN = ["-_.!~*'()", "-_.~", "-_.~/", "-_.* ", "-_.~ "].map((others) => `${LETTERS}${others}`);
/** What needs no quotes in a shell. */
const SHELL_PLAIN = `${LETTERS}_./:=@%+,-`;
/** What has a backslash before it between double quotes of a shell, and in Python between the quotes that it has chosen. */
const ESCAPED = ['"$`\\', "\\", "'\\"];
/** What JSON has by its number that could be read as it is: nothing; what means something in a page, in Go; what is not ASCII, in Python. */
const BY_NUMBER = [
	() => false,
	(character: number) => isOneOf(character, "&<>"),
	(character: number) => character >= 0x80,
] as const;
const PERCENT = 0x25;
const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKSLASH = 0x5c;
const UNIT = 0x75;
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
function inJson(value: Uint8Array, isByNumber: (character: number) => boolean): Buffer {
	return Buffer.concat(charactersOf(value).map((bytes) => Uint8Array.from(jsonOf(bytes, isByNumber))));
}

function jsonOf(bytes: Uint8Array, isByNumber: (character: number) => boolean): Iterable<number> {
	const character = numberOf(bytes);
	if (isByNumber(character)) return byNumber(character);
	return character === DOUBLE_QUOTE || character === BACKSLASH ? [BACKSLASH, character] : bytes;
}

/** Each in its bytes of UTF-8; a byte that is part of none is one by itself. */
function charactersOf(value: Uint8Array): Uint8Array[] {
	const characters: Uint8Array[] = [];
	for (let at = 0; at < value.byteLength; at += characters.at(-1)?.byteLength ?? 1) {
		const first = value[at] ?? 0;
		const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
		const bytes = value.subarray(at, at + length);
		const isWhole = bytes.byteLength === length && bytes.subarray(1).every((byte) => (byte & 0xc0) === 0x80);
		characters.push(isWhole ? bytes : value.subarray(at, at + 1));
	}
	return characters;
}

function numberOf(bytes: Uint8Array): number {
	const [first = 0] = bytes;
	if (bytes.byteLength === 1) return first;
	return bytes.subarray(1).reduce((bits, byte) => (bits << 6) | (byte & 0x3f), first & (0x7f >> bytes.byteLength));
}

/** As JSON does: in units of UTF-16, of which large numbers have two. */
function byNumber(character: number): readonly number[] {
	if (character < 0x10000) return unit(character);
	return [...unit(0xd7c0 + (character >> 10)), ...unit(0xdc00 + (character & 0x3ff))];
}

function unit(number: number): readonly number[] {
	return [BACKSLASH, UNIT, ...hex(number >> 8, LOWER), ...hex(number & 0xff, LOWER)];
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
