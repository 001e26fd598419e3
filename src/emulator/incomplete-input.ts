/** Tracks incomplete input: the beginning of a character, or of an escape sequence. */

/** Longest sequence kept, in bytes. The rest of a longer one is ignored where it is restored. */
const MAX_PENDING_BYTES = 64 * 1024;

const ESC = 0x1b;
/** First UTF-8 byte of C1 controls, and second bytes of those that begin a sequence. */
const C1_LEAD = 0xc2;
const C1_INTRODUCERS: readonly number[] = [0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f];

/** States of xterm's parser. */
const GROUND = 0;
const CSI_IGNORE = 6;
const SOS_PM_APC = 7;
const OSC = 8;

const NOTHING = new Uint8Array();

export class IncompleteInput {
	/** The beginning of a character. xterm loses some characters that are split. */
	#character: Uint8Array = NOTHING;
	/** The beginning of a sequence; undefined if it is too long. */
	#sequence: Uint8Array | undefined = NOTHING;

	/** The bytes that can be parsed now, without an incomplete character at the end. */
	whole(bytes: Uint8Array): Uint8Array {
		const joined = concat(this.#character, bytes);
		const cut = joined.byteLength - unfinished(joined);
		this.#character = joined.slice(cut);
		return joined.subarray(0, cut);
	}

	/** Call after the bytes were parsed, with the resulting state of the parser. */
	parsed(bytes: Uint8Array, state: number): void {
		if (state === GROUND) {
			this.#sequence = NOTHING;
			return;
		}
		const begin = lastIntroducer(bytes);
		if (begin !== undefined) this.#sequence = bytes.slice(begin);
		else if (this.#sequence) this.#sequence = concat(this.#sequence, bytes);
		if (this.#sequence && this.#sequence.byteLength > MAX_PENDING_BYTES) this.#sequence = undefined;
	}

	/** The bytes that bring another parser to the same state. */
	bytes(state: number): Uint8Array {
		const sequence = this.#sequence ?? stateOnly(state);
		// Controls inside of short sequences took effect already.
		const isShort = state > GROUND && state <= CSI_IGNORE;
		return concat(
			isShort ? sequence.filter((byte, at) => byte >= 0x20 || (byte === ESC && at === 0)) : sequence,
			this.#character,
		);
	}
}

/** The beginning of an unknown sequence, so that the rest is ignored. */
function stateOnly(state: number): Uint8Array {
	if (state === OSC) return ascii("\x1b]7770;");
	if (state === SOS_PM_APC) return ascii("\x1b_");
	return ascii(state <= CSI_IGNORE ? "\x1b[1?" : "\x1bPz");
}

/** Start of the last sequence that may be incomplete. It cancels any sequence before it. */
function lastIntroducer(bytes: Uint8Array): number | undefined {
	for (let at = bytes.byteLength - 1; at >= 0; at--) {
		const byte = bytes[at] as number;
		if (byte === ESC) return at;
		if (byte === C1_LEAD && C1_INTRODUCERS.includes(bytes[at + 1] ?? 0)) return at;
	}
	return undefined;
}

/** Number of bytes at the end that begin an incomplete character. */
function unfinished(bytes: Uint8Array): number {
	for (let back = 1; back <= Math.min(3, bytes.byteLength); back++) {
		const byte = bytes[bytes.byteLength - back] as number;
		if (byte < 0x80) return 0;
		if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
	}
	return 0;
}

/** Length of a character with this first byte. */
function lengthOf(byte: number): number {
	if (byte >= 0xf8) return 1;
	return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
	if (a.byteLength === 0) return b;
	const joined = new Uint8Array(a.byteLength + b.byteLength);
	joined.set(a);
	joined.set(b, a.byteLength);
	return joined;
}

function ascii(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
