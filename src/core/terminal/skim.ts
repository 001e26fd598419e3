/**
 * Skips the parts of a terminal's output that do not change its state: text, and complete sequences that only draw,
 * such as colors and links: nearly all output. The addon has a faster version of `skim` for floods.
 */

/** Returns the first position at or after `from` that needs a closer look, or the end. `from` is between sequences. */
export type Skim = (bytes: Uint8Array, from: number) => number;

const BEL = 0x07;
const ESC = 0x1b;
const LEFT_BRACKET = 0x5b;
const RIGHT_BRACKET = 0x5d;
const BACKSLASH = 0x5c;
const QUESTION_MARK = 0x3f;
const SEMICOLON = 0x3b;
const DIGIT_EIGHT = 0x38;
const SMALL_M = 0x6d;
/** The first byte of C1 in UTF-8. The second one is the letter after an escape plus 64. */
export const C1_LEAD = 0xc2;

const IS_CONTROL: Uint8Array = table((byte) => byte === ESC || byte === BEL || byte === C1_LEAD);
/** All finals of CSI except those that matter for the state. */
const IS_PLAIN_FINAL: Uint8Array = allBut("JSchlnpqtuwxy", 0x40);
/** All bytes except those that begin a longer sequence after an escape, reset the terminal, or query it. */
const IS_PLAIN_SHORT: Uint8Array = allBut("[]PX^_cZ", 0x30);

/** Goes no further than `to`, except to finish a sequence. */
export function skim(bytes: Uint8Array, from: number, to: number = bytes.byteLength): number {
	let at = from;
	while (at < to) {
		if (IS_CONTROL[bytes[at] ?? 0] === 0) at++;
		else {
			const after = afterControl(bytes, at);
			if (after === undefined) break;
			at = after;
		}
	}
	return at;
}

/**
 * The position after the sequence at `at`; undefined if it matters, is incomplete, or is not a sequence. The same holds
 * below.
 */
function afterControl(bytes: Uint8Array, at: number): number | undefined {
	if (bytes[at] === BEL || at + 1 >= bytes.byteLength) return undefined;
	const next = bytes[at + 1] ?? 0;
	if (bytes[at] === C1_LEAD) return isC1(next) ? undefined : at + 1;
	if (next === LEFT_BRACKET) return afterCsi(bytes, at);
	return next === RIGHT_BRACKET ? afterLink(bytes, at) : afterShort(bytes, at);
}

/** `m` sets colors, unless it is a query. */
function afterCsi(bytes: Uint8Array, at: number): number | undefined {
	let final = at + 2;
	while (isBetween(bytes[final], 0x20, 0x3f)) final++;
	const byte = bytes[final] ?? 0;
	if (IS_PLAIN_FINAL[byte] === 0 || (byte === SMALL_M && bytes[at + 2] === QUESTION_MARK)) return undefined;
	return final + 1;
}

/** `OSC 8` with ASCII text, as URLs are. */
function afterLink(bytes: Uint8Array, at: number): number | undefined {
	if (bytes[at + 2] !== DIGIT_EIGHT || bytes[at + 3] !== SEMICOLON) return undefined;
	let last = at + 4;
	while (isBetween(bytes[last], 0x20, 0x7e)) last++;
	if (bytes[last] === BEL) return last + 1;
	return bytes[last] === ESC && bytes[last + 1] === BACKSLASH ? last + 2 : undefined;
}

/** An escape, optional intermediate bytes, and a final byte. */
function afterShort(bytes: Uint8Array, at: number): number | undefined {
	let last = at + 1;
	while (isBetween(bytes[last], 0x20, 0x2f)) last++;
	const isPlain = last > at + 1 ? isBetween(bytes[last], 0x30, 0x7e) : IS_PLAIN_SHORT[bytes[last] ?? 0] === 1;
	return isPlain ? last + 1 : undefined;
}

/** Whether this byte after `C1_LEAD` completes a C1. */
export function isC1(byte: number): boolean {
	return byte >= 0x80 && byte <= 0x9f;
}

function isBetween(byte: number | undefined, first: number, last: number): boolean {
	return byte !== undefined && byte >= first && byte <= last;
}

/** Printable ASCII from `first` on, except these letters. */
function allBut(letters: string, first: number): Uint8Array {
	return table((byte) => isBetween(byte, first, 0x7e) && !letters.includes(String.fromCharCode(byte)));
}

/** A table of 256 entries, 1 where the predicate holds. */
function table(isSo: (byte: number) => boolean): Uint8Array {
	return Uint8Array.from({ length: 256 }, (_, byte) => (isSo(byte) ? 1 : 0));
}
