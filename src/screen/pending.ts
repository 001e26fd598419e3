/** The bytes of the output that are not whole yet: the beginning of a character, or of an escape sequence. */

/** Of one sequence, in bytes: more is not kept, and the rest of such a sequence is passed over where it is restored. */
const MAX_PENDING_BYTES = 64 * 1024;

const ESC = 0x1b;
/** In UTF-8, the first byte of C1 controls; then those of them with which something begins. */
const C1_LEAD = 0xc2;
const C1_INTRODUCERS: readonly number[] = [0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f];

/** States of xterm's parser. */
const GROUND = 0;
const CSI_IGNORE = 6;
const SOS_PM_APC = 7;
const OSC = 8;

const NOTHING = new Uint8Array();

export class Pending {
	/** The beginning of a character; xterm would lose some of those that are cut in two. */
	#character: Uint8Array = NOTHING;
	/** The beginning of a sequence; undefined when it is too long. */
	#sequence: Uint8Array | undefined = NOTHING;

	/** What can be parsed now: all but the beginning of a character at the end. */
	whole(bytes: Uint8Array): Uint8Array {
		const joined = concat(this.#character, bytes);
		const cut = joined.byteLength - unfinished(joined);
		this.#character = joined.slice(cut);
		return joined.subarray(0, cut);
	}

	/** Those were parsed, after which the parser is in that state. */
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

	/** What brings another parser into the same state. */
	bytes(state: number): Uint8Array {
		const sequence = this.#sequence ?? stateOnly(state);
		// Inside of short sequences controls act at once: they have.
		const isShort = state > GROUND && state <= CSI_IGNORE;
		return concat(
			isShort ? sequence.filter((byte, at) => byte >= 0x20 || (byte === ESC && at === 0)) : sequence,
			this.#character,
		);
	}
}

/** As if the sequence were one that nobody knows: what is left of it is passed over. */
function stateOnly(state: number): Uint8Array {
	if (state === OSC) return ascii("\x1b]7770;");
	if (state === SOS_PM_APC) return ascii("\x1b_");
	return ascii(state <= CSI_IGNORE ? "\x1b[1?" : "\x1bPz");
}

/** Where the last thing begins that can be unfinished: each of these breaks off whatever was before. */
function lastIntroducer(bytes: Uint8Array): number | undefined {
	for (let at = bytes.byteLength - 1; at >= 0; at--) {
		const byte = bytes[at] as number;
		if (byte === ESC) return at;
		if (byte === C1_LEAD && C1_INTRODUCERS.includes(bytes[at + 1] ?? 0)) return at;
	}
	return undefined;
}

/** How many bytes at the end are the beginning of a character. */
function unfinished(bytes: Uint8Array): number {
	for (let back = 1; back <= Math.min(3, bytes.byteLength); back++) {
		const byte = bytes[bytes.byteLength - back] as number;
		if (byte < 0x80) return 0;
		if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
	}
	return 0;
}

/** Of a character with this first byte. */
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
