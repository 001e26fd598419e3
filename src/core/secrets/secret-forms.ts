import { allocateOffHeap } from "./secret-memory.ts";

/**
 * The forms in which programs print a value: plain, base64 at any alignment, hexadecimal, URL-encoded, JSON, quoted for
 * shells and Python, and as shells write it to the terminal about their commands. The search ignores case, so each form
 * is listed once.
 */
export function formsOf(value: Uint8Array): Buffer[] {
	const base64 = [0, 1, 2].flatMap((shift) => ["+/", "-_"].flatMap((last) => inBase64(value, shift, last)));
	return [
		joined(value, (byte) => [byte]),
		...base64,
		joined(value, hex),
		...ADDRESS_PLAIN.map((plain) => inAddress(value, plain)),
		...BY_NUMBER.map((isByNumber) => inJson(value, isByNumber)),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, BACKSLASH, QUOTE, QUOTE] : [byte])),
		joined(value, (byte) => (byte === QUOTE ? [QUOTE, DOUBLE_QUOTE, QUOTE, DOUBLE_QUOTE, QUOTE] : [byte])),
		joined(value, (byte) => (isOneOf(byte, SHELL_PLAIN) || byte >= 0x80 ? [byte] : [BACKSLASH, byte])),
		...ESCAPED.map((escaped) => joined(value, (byte) => (isOneOf(byte, escaped) ? [BACKSLASH, byte] : [byte]))),
		joined(value, inCommandMark),
		joined(value, (byte) => (byte === PERCENT ? [PERCENT, ...hex(byte)] : [byte])),
	];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX_DIGITS = "0123456789abcdef";
/**
 * Characters that are not encoded: by `encodeURIComponent`; by RFC 3986; by Python's `quote`; by HTML forms, in
 * browsers, in Python, in PHP and with `encodeURIComponent`, which write a space as `+`; none, in programs that encode
 * every byte.
 */
const ADDRESS_PLAIN = [
	...["-_.!~*'()", "-_.~", "-_.~/", "-_.* ", "-_.~ ", "-_. ", "-_.!~*'() "].map((others) => `${LETTERS}${others}`),
	"",
];
/** Characters that need no quotes in a shell. */
const SHELL_PLAIN = `${LETTERS}_./:=@%+,-`;
/** Characters escaped with a backslash between a shell's double quotes, and in Python between either kind of quotes. */
const ESCAPED = ['"$`\\', "\\", "'\\"];
/**
 * Characters that JSON encoders escape without need: none; the special characters of HTML, in Go; all beyond ASCII, in
 * Python.
 */
const BY_NUMBER = [
	() => false,
	(character: number) => isOneOf(character, "&<>"),
	(character: number) => character >= 0x80,
] as const;
const PERCENT = 0x25;
const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SEMICOLON = 0x3b;
const LETTER_X = 0x78;
const UNIT = 0x75;
const SPACE = 0x20;
const PLUS = 0x2b;

function joined(value: Uint8Array, written: (byte: number) => readonly number[]): Buffer {
	return Buffer.concat(Array.from(value, (byte) => Uint8Array.from(written(byte))));
}

function isOneOf(byte: number, characters: string): boolean {
	return byte < 0x80 && characters.includes(String.fromCharCode(byte));
}

function hex(byte: number): number[] {
	return [HEX_DIGITS.charCodeAt(byte >> 4), HEX_DIGITS.charCodeAt(byte & 15)];
}

function inAddress(value: Uint8Array, plain: string): Buffer {
	return joined(value, (byte) => {
		if (!isOneOf(byte, plain)) return [PERCENT, ...hex(byte)];
		return [byte === SPACE ? PLUS : byte];
	});
}

/** The encoding of a command's text in OSC 633, as shell hooks and some editors write it. */
function inCommandMark(byte: number): number[] {
	if (byte === BACKSLASH) return [BACKSLASH, BACKSLASH];
	return byte === SEMICOLON ? [BACKSLASH, LETTER_X, ...hex(byte)] : [byte];
}

/** The value in JSON. A secret has no control characters. */
function inJson(value: Uint8Array, isByNumber: (character: number) => boolean): Buffer {
	return Buffer.concat(charactersOf(value).map((bytes) => Uint8Array.from(jsonOf(bytes, isByNumber))));
}

function jsonOf(bytes: Uint8Array, isByNumber: (character: number) => boolean): Iterable<number> {
	const character = numberOf(bytes);
	if (isByNumber(character)) return byNumber(character);
	return character === DOUBLE_QUOTE || character === BACKSLASH ? [BACKSLASH, character] : bytes;
}

/** The value's characters in UTF-8. An invalid byte is a character by itself. */
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

/** JSON's escape: UTF-16 code units, two for characters beyond the BMP. */
function byNumber(character: number): readonly number[] {
	if (character < 0x10000) return unit(character);
	return [...unit(0xd7c0 + (character >> 10)), ...unit(0xdc00 + (character & 0x3ff))];
}

function unit(number: number): readonly number[] {
	return [BACKSLASH, UNIT, ...hex(number >> 8), ...hex(number & 0xff)];
}

/**
 * The base64 of a value that begins `shift` bytes into a group of three: the digits that do not depend on what
 * surrounds it, and those with the last bits if nothing or a line feed follows.
 */
function inBase64(value: Uint8Array, shift: number, last: string): Buffer[] {
	const alphabet = `${LETTERS}${last}`;
	const at = (index: number) => value[index - shift] ?? 0;
	const digits = ((shift + value.byteLength) * 8) / 6;
	const written = allocateOffHeap(Math.ceil(digits));
	for (let digit = 0; digit < written.byteLength; digit++) {
		const group = Math.floor(digit / 4) * 3;
		const bits = (at(group) << 16) | (at(group + 1) << 8) | at(group + 2);
		written[digit] = alphabet.charCodeAt((bits >> (18 - (digit % 4) * 6)) & 63);
	}
	const from = [0, 2, 3][shift];
	return [written.subarray(from, Math.floor(digits)), written.subarray(from)];
}
