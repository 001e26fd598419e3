/**
 * The parts of a terminal's output that say nothing about the terminal, which are nearly all of it: text, and complete
 * CSI that only draw, such as colours. `skim` says what they are; for floods the addon has one that is faster.
 */

/** Gives the first place at or after `from`, which is between sequences, that needs a closer look; or the end. */
export type Skim = (bytes: Uint8Array, from: number) => number;

const BEL = 0x07;
const ESC = 0x1b;
const DEL = 0x7f;
const LEFT_BRACKET = 0x5b;
const QUESTION_MARK = 0x3f;
const SMALL_M = 0x6d;
/** In UTF-8, the first byte of C1: its second one is the letter after an escape and 64 more. */
export const C1_LEAD = 0xc2;
/** Finals of CSI that say something, as far as their parameters may. */
const TELLING_FINALS = "JSchlnpqtuwxy";

const IS_CONTROL: Uint8Array = table((byte) => byte === ESC || byte === BEL || byte === C1_LEAD);
const IS_PLAIN_FINAL: Uint8Array = table(
	(byte) => byte >= 0x40 && byte < DEL && !TELLING_FINALS.includes(String.fromCharCode(byte)),
);

/** Goes no further than `to`, but for the rest of a sequence. */
export function skim(bytes: Uint8Array, from: number, to: number = bytes.byteLength): number {
	let at = from;
	while (at < to) {
		const byte = bytes[at] ?? 0;
		if (IS_CONTROL[byte] === 0) at++;
		else if (byte === ESC) {
			const after = afterPlainCsi(bytes, at);
			if (after === undefined) break;
			at = after;
		} else if (byte === C1_LEAD && at + 1 < bytes.byteLength && !isC1(bytes[at + 1] ?? 0)) at++;
		else break;
	}
	return at;
}

/** Where the output goes on after the CSI that begins at `at`; undefined if it says something, is not complete, or is none. */
function afterPlainCsi(bytes: Uint8Array, at: number): number | undefined {
	if (bytes[at + 1] !== LEFT_BRACKET) return undefined;
	for (let final = at + 2; final < bytes.byteLength; final++) {
		const byte = bytes[final] ?? 0;
		if (byte < 0x20 || byte > 0x3f) return isPlainCsi(byte, bytes[at + 2] ?? 0) ? final + 1 : undefined;
	}
	return undefined;
}

/** By its last byte, and the first one after its bracket: `m` is for colours, unless it asks for something. */
function isPlainCsi(final: number, first: number): boolean {
	return IS_PLAIN_FINAL[final] === 1 && (final !== SMALL_M || first !== QUESTION_MARK);
}

/** Whether a byte is the second one of C1, if it comes after `C1_LEAD`. */
export function isC1(byte: number): boolean {
	return byte >= 0x80 && byte <= 0x9f;
}

/** Has a one where it is so. */
function table(isSo: (byte: number) => boolean): Uint8Array {
	return Uint8Array.from({ length: 256 }, (_, byte) => (isSo(byte) ? 1 : 0));
}
