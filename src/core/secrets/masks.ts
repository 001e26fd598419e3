/**
 * Masks secrets in a session's output: where a value appears, plain or in a form in which programs print values, its
 * bytes are overwritten with as many `*`. So all offsets stay the same.
 *
 * A value may arrive in parts, so a possible beginning at the end of the output is held until more comes. The search
 * ignores case, and it skips line ends and colors within a value, which stay in the output.
 *
 * The values are needed as long as the session lives. They are stored obfuscated, and are in the clear only during a
 * comparison. They never become strings, which can't be overwritten.
 */

import { SessionError } from "../errors.ts";
import { formsOf } from "./secret-forms.ts";
import { allocateOffHeap } from "./secret-memory.ts";

/**
 * A shorter form would also be found in unrelated output.
 * @limit a masked secret, at least | a shorter value is not masked
 */
const SHORTEST_BYTES = 6;
/**
 * Values per session. Users type fewer.
 * @limit masked secrets of one session | `limit_exceeded`
 */
const MOST_VALUES = 64;
/** Most bytes that `take` accepts at once. The search buffers have this size. */
export const MOST_TAKEN_BYTES: number = 64 * 1024;

/** A terminal turns one line end into at most this many bytes. More of them are an empty line, which ends a value. */
const LONGEST_LINE_END_BYTES = 3;
/**
 * Bytes of line ends and colors that the search skips between two bytes of a value; more end the value.
 * @limit colors and line ends between two bytes of a secret | it is not recognized
 */
const MOST_SKIPPED_BYTES = 128;
/** Bytes between `ESC [` and the last byte of a skipped sequence. */
const MOST_PARAMETER_BYTES = 32;

const STAR = 0x2a;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const ESCAPE = 0x1b;
const BRACKET = 0x5b;
/** The last bytes of the sequences that programs write around colored text: SGR, and EL, which `grep` adds. */
const COLOR = 0x6d;
const ERASE_LINE = 0x4b;
/** `ESC ( B`, which terminfo's `sgr0` (`tput sgr0`) has in addition on most terminals. */
const PARENTHESIS = 0x28;
const ASCII = 0x42;
const NOTHING = Buffer.alloc(0);

/**
 * Each byte as the search sees it: letters in lower case. The two kinds that may be skipped have values above a byte.
 */
const IS_LINE_END = 256;
const IS_ESCAPE = 257;
const FOLDED: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
	if (byte === LINE_FEED || byte === RETURN) return IS_LINE_END;
	if (byte === ESCAPE) return IS_ESCAPE;
	return lowerCase(byte);
});

/** The search first compares a hash of this many bytes, so that most output costs one table lookup per byte. */
const HASHED_BYTES = 4;
const HASHES = 1 << 16;

/** A form of a value, with what the search needs before it compares bytes. */
type Form = { readonly bytes: ObfuscatedBytes; readonly hash: number; readonly first: number };
type Range = { readonly from: number; readonly to: number };

/** Matches in some output, as ranges of the searched bytes. */
type Found = {
	readonly matches: Range[];
	/** Possible beginnings at the end, the longest one of each form. */
	readonly begun: Range[];
	/** Beginnings that are long enough to be masked as a value. */
	readonly likely: Range[];
};

/**
 * Output without skipped bytes, in lower case. One instance serves all masks of the process, because a search is
 * synchronous.
 */
class SearchedBytes {
	#bytes: Buffer = NOTHING;
	#places: Uint32Array = new Uint32Array(0);
	length = 0;

	get bytes(): Buffer {
		return this.#bytes.subarray(0, this.length);
	}

	/** The position of a searched byte in the output. */
	placeOf(at: number): number {
		return this.#places[at] ?? 0;
	}

	/** Fills the buffer from the output, and calls back at every position where a form may begin. */
	fill(all: Uint8Array, hashes: HashFilter, onHit: (hash: number) => void): void {
		this.#reserve(all.byteLength);
		const bytes = this.#bytes;
		const places = this.#places;
		const { flags, factor } = hashes;
		let length = 0;
		let skipped = 0;
		let ends = 0;
		let last = 0;
		for (let at = 0; at < all.byteLength; at++) {
			const byte = all[at] ?? 0;
			let folded = FOLDED[byte] ?? 0;
			if (folded >= IS_LINE_END) {
				const bytesOfIt = folded === IS_LINE_END ? 1 : colorLength(all, at);
				// The rest of the sequence has not come yet, and may be a color.
				if (bytesOfIt === undefined) break;
				ends += folded === IS_LINE_END ? 1 : 0;
				skipped += bytesOfIt;
				if (bytesOfIt > 0 && ends <= LONGEST_LINE_END_BYTES && skipped <= MOST_SKIPPED_BYTES) {
					at += bytesOfIt - 1;
					continue;
				}
				folded = byte;
			}
			skipped = 0;
			ends = 0;
			bytes[length] = folded;
			places[length++] = at;
			last = (last << 8) | folded;
			const hash = Math.imul(last, factor) >>> 16;
			if (flags[hash] === 1 && length >= HASHED_BYTES) onHit(hash);
		}
		this.length = length;
	}

	wipe(): void {
		this.bytes.fill(0);
	}

	#reserve(length: number): void {
		if (this.#bytes.byteLength >= length) return;
		this.#bytes = allocateOffHeap(length);
		this.#places = new Uint32Array(length);
	}
}

const searched = new SearchedBytes();

/** The hashes and first bytes of all forms. The factor differs per session. */
class HashFilter {
	readonly flags: Uint8Array = new Uint8Array(HASHES);
	readonly firsts: Uint8Array = new Uint8Array(256);
	readonly factor: number = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) | 1;

	/** Adds a form and returns its hash. */
	add(form: Uint8Array): number {
		let last = 0;
		for (const byte of form.subarray(0, HASHED_BYTES)) last = (last << 8) | byte;
		const hash = Math.imul(last, this.factor) >>> 16;
		this.flags[hash] = 1;
		this.firsts[form[0] ?? 0] = 1;
		return hash;
	}
}

export class SecretMasker {
	readonly #forms: Form[] = [];
	#hashes: HashFilter | undefined;
	#values = 0;
	/** The end of the output, from a possible beginning of a value on: as written, and as shown if no more comes. */
	#held: Buffer = NOTHING;
	#heldAsShown: Buffer = NOTHING;
	/** How many of the held bytes were shown already. The search continues after them. */
	#shown = 0;
	/** How many of the held bytes belong to a value whose beginning is gone, so that the search can't find it again. */
	#masked = 0;

	/** Whether there are no values, so output passes unchanged. */
	get isEmpty(): boolean {
		return this.#forms.length === 0;
	}

	/** Whether bytes are held until more output comes. */
	get isHolding(): boolean {
		return this.#held.byteLength > this.#shown;
	}

	add(value: Uint8Array): void {
		const forms = formsOf(value);
		for (const form of forms) for (const [at, byte] of form.entries()) form[at] = lowerCase(byte);
		try {
			const isKnown = (form: Buffer) => this.#forms.some(({ bytes }) => bytes.use((known) => known.equals(form)));
			const isNew = (form: Buffer, index: number) =>
				!isKnown(form) && forms.findIndex((other) => other.equals(form)) === index;
			const added = forms.filter((form, index) => form.byteLength >= SHORTEST_BYTES && isNew(form, index));
			if (added.length === 0) return;
			if (this.#values >= MOST_VALUES) {
				throw new SessionError("limit_exceeded", `too many secrets in this session (limit ${MOST_VALUES})`, {
					hint: "start a new session",
				});
			}
			this.#values++;
			for (const form of added) this.#addForm(form);
		} finally {
			for (const form of forms) form.fill(0);
		}
	}

	/**
	 * Returns the output that may be shown now, masked; its end may be held. Takes ownership of the bytes: they are
	 * returned or overwritten. At most `MOST_TAKEN_BYTES`.
	 */
	take(bytes: Uint8Array): Uint8Array {
		if (this.#hashes === undefined) return bytes;
		const all = this.#held.byteLength > 0 ? joinedWiping(this.#held, bytes) : bytes;
		const { matches, begun, likely } = this.#find(all, this.#hashes);
		const from = begun.reduce((least, range) => Math.min(least, searched.placeOf(range.from)), all.byteLength);
		if (this.#masked > 0) matches.push(this.#rangeMaskedBefore());
		this.#masked = 0;
		for (const match of matches) {
			const end = searched.placeOf(match.to - 1) + 1;
			if (searched.placeOf(match.from) <= from) this.#masked = Math.max(this.#masked, end - from);
		}
		this.#held = from < all.byteLength ? copyOf(all.subarray(from)) : NOTHING;
		for (const range of [...matches, ...likely]) overwrite(all, range);
		this.#heldAsShown = from < all.byteLength ? copyOf(all.subarray(from)) : NOTHING;
		const answer = all.subarray(Math.min(this.#shown, from), from);
		this.#shown = Math.max(0, this.#shown - from);
		all.fill(0, from);
		if (matches.length > 0 || begun.length > 0) searched.wipe();
		return answer;
	}

	/**
	 * Returns the held bytes because no more came in time. If more comes later the search continues, so the rest of a
	 * value is masked. A beginning of at least half a value is masked here.
	 */
	release(): Uint8Array {
		const answer = this.#heldAsShown.subarray(this.#shown);
		this.#shown = this.#held.byteLength;
		this.#heldAsShown = NOTHING;
		return answer;
	}

	/** Masks the values in a text. If the text was cut, a possible beginning at its end is masked too. */
	hide(text: string, isCut: boolean): string {
		if (this.#hashes === undefined) return text;
		const all = allocateOffHeap(Buffer.byteLength(text));
		all.write(text);
		const { matches, begun } = this.#find(all, this.#hashes);
		const hidden = isCut ? [...matches, ...begun] : matches;
		for (const range of hidden) overwrite(all, range);
		searched.wipe();
		const answer = hidden.length > 0 ? all.toString() : text;
		all.fill(0);
		return answer;
	}

	#rangeMaskedBefore(): Range {
		let to = 0;
		while (to < searched.length && searched.placeOf(to) < this.#masked) to++;
		return { from: 0, to };
	}

	#addForm(form: Buffer): void {
		this.#hashes ??= new HashFilter();
		const hash = this.#hashes.add(form);
		this.#forms.push({ bytes: new ObfuscatedBytes(form), hash, first: form[0] ?? 0 });
	}

	#find(all: Uint8Array, hashes: HashFilter): Found {
		const found: Found = { matches: [], begun: [], likely: [] };
		const hits = new Set<number>();
		searched.fill(all, hashes, (hash) => hits.add(hash));
		const { bytes } = searched;
		// A beginning may be too short for a hash.
		const end = bytes.subarray(Math.max(0, bytes.byteLength - HASHED_BYTES + 1));
		if (hits.size === 0 && end.every((byte) => hashes.firsts[byte] === 0)) return found;
		for (const form of this.#forms) {
			const isHit = hits.has(form.hash);
			if (!isHit && !end.includes(form.first)) continue;
			form.bytes.use((value) => {
				if (isHit) found.matches.push(...rangesOf(bytes, value));
				const length = begunAtEnd(bytes, value);
				if (length === 0) return;
				const range = { from: bytes.byteLength - length, to: bytes.byteLength };
				found.begun.push(range);
				if (length >= Math.max(SHORTEST_BYTES, value.byteLength / 2)) found.likely.push(range);
			});
		}
		return found;
	}
}

/** Bytes stored XORed with random bytes, in the clear only while they are used. */
class ObfuscatedBytes {
	readonly #key: Buffer;
	readonly #bytes: Buffer;

	constructor(bytes: Uint8Array) {
		this.#key = crypto.getRandomValues(allocateOffHeap(bytes.byteLength));
		this.#bytes = xor(this.#key, bytes);
	}

	use<Answer>(act: (bytes: Buffer) => Answer): Answer {
		const bytes = xor(this.#key, this.#bytes);
		try {
			return act(bytes);
		} finally {
			bytes.fill(0);
		}
	}
}

function xor(key: Uint8Array, bytes: Uint8Array): Buffer {
	const result = allocateOffHeap(bytes.byteLength);
	for (const [index, byte] of bytes.entries()) result[index] = byte ^ (key[index] ?? 0);
	return result;
}

function lowerCase(byte: number): number {
	return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

/**
 * The length of a sequence that sets colors, erases the rest of the line or selects ASCII; 0 for any other, undefined if
 * it is incomplete.
 */
function colorLength(all: Uint8Array, from: number): number | undefined {
	const kind = all[from + 1];
	if (kind === undefined) return undefined;
	if (kind === PARENTHESIS) {
		const set = all[from + 2];
		return set === undefined ? undefined : set === ASCII ? 3 : 0;
	}
	if (kind !== BRACKET) return 0;
	for (let at = from + 2; at <= from + 2 + MOST_PARAMETER_BYTES; at++) {
		const byte = all[at];
		if (byte === undefined) return undefined;
		// Digits, `:` and `;`.
		if (byte >= 0x30 && byte <= 0x3b) continue;
		return byte === COLOR || byte === ERASE_LINE ? at + 1 - from : 0;
	}
	return 0;
}

/** Concatenates two arrays and overwrites both, because they may hold a value. */
function joinedWiping(before: Uint8Array, bytes: Uint8Array): Uint8Array {
	const all = allocateOffHeap(before.byteLength + bytes.byteLength);
	all.set(before);
	all.set(bytes, before.byteLength);
	before.fill(0);
	bytes.fill(0);
	return all;
}

function copyOf(bytes: Uint8Array): Buffer {
	const copy = allocateOffHeap(bytes.byteLength);
	copy.set(bytes);
	return copy;
}

/** Masks a range. Line ends and colors in it stay. */
function overwrite(all: Uint8Array, { from, to }: Range): void {
	for (let at = from; at < to; at++) all[searched.placeOf(at)] = STAR;
}

/** All occurrences of a form, including overlapping ones such as in `abcabcab`. */
function rangesOf(all: Buffer, form: Buffer): Range[] {
	const ranges: Range[] = [];
	const { byteLength } = form;
	let from = all.indexOf(form);
	// A self-overlapping run continues with the form's period. It becomes one range, so that no byte is compared often.
	const period = from < 0 ? byteLength : periodOf(form);
	while (from >= 0) {
		let to = from + byteLength;
		while (to + period <= all.byteLength && all.compare(all, to, to + period, to - period, to) === 0) to += period;
		ranges.push({ from, to });
		from = all.indexOf(form, to - byteLength + 1);
	}
	return ranges;
}

/** The smallest shift at which the form matches itself; its length if there is none. */
function periodOf(form: Buffer): number {
	let period = 1;
	while (form.compare(form, 0, form.byteLength - period, period) !== 0) period++;
	return period;
}

/** Length of the longest end of the output that is a beginning of the form. */
function begunAtEnd(all: Buffer, form: Buffer): number {
	const [first = 0] = form;
	const from = Math.max(0, all.byteLength - form.byteLength + 1);
	for (let at = all.indexOf(first, from); at >= 0; at = all.indexOf(first, at + 1)) {
		const length = all.byteLength - at;
		if (all.compare(form, 0, length, at) === 0) return length;
	}
	return 0;
}
