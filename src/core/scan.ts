/**
 * What a terminal's output says about the terminal itself, folded from its bytes however they are cut: which screen and
 * modes are on, when it was cleared, its title and bells, where a shell's prompts and commands are, what was asked of it.
 *
 * It is no model of the screen. It runs where the log is, for every byte of every terminal, so text is only looked at
 * for the few bytes with which something else begins.
 */

import { SessionError } from "./errors.ts";
import type { Item } from "./event.ts";

/** Longer sequences, in bytes, are passed over as a whole: nothing that is noted here comes near. */
const SEQUENCE_BYTES = 4096;
/** Of titles and marks, in bytes of UTF-8; the rest is cut off. */
const TEXT_BYTES = 512;
/** The newest are kept: as many commands as somebody looks back at; at 512 bytes each they take 32 KiB at most. */
const MAX_MARKS = 64;
/** The newest are kept. They are answered as they come; these are for whoever looks later. */
const MAX_QUERIES = 16;
/** Titles that programs have put aside; xterm keeps as many. */
const MAX_TITLES = 10;
/** Of a character in UTF-8, as many as may come without its last one. */
const CHARACTER_BYTES = 3;
/** Text is looked through byte by byte this far, in bytes; from there on a search costs less than it saves. */
const NEAR_BYTES = 256;

/** A fixed set, so that no output can make it grow: what terminals of today know of `CSI ? n h`. */
export const KNOWN_MODES: ReadonlySet<number> = new Set([
	1, 3, 4, 5, 6, 7, 8, 9, 12, 25, 40, 45, 47, 66, 69, 80, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016,
	1034, 1035, 1036, 1039, 1045, 1047, 1048, 1049, 1070, 2004, 2026, 2027, 2031, 2048,
]);
const ALTERNATE_MODES: ReadonlySet<number> = new Set([47, 1047, 1049]);
const SYNCHRONIZED_MODE = 2026;
/** Back to what they are at first by a soft reset: cursor keys, origin, cursor, keypad. */
const SOFT_RESET_MODES: readonly number[] = [1, 6, 25, 66];

/** A prompt, a command or a directory, as a shell tells it: `OSC 133`, `633` or `7`. */
export type ShellMark = {
	/** Where its sequence begins, and where it ends. */
	readonly offset: number;
	readonly end: number;
	readonly code: 133 | 633 | 7;
	/** All that follows the code, such as `D;0`. */
	readonly text: string;
};

/** Something to which a terminal types an answer. */
export type TerminalQuery = {
	readonly offset: number;
	readonly end: number;
	/** The sequence without its end, one character for each byte; C1 as ESC and a letter. */
	readonly text: string;
};

/** Hears of each as it comes, with all of its text. */
export type ScanListener = {
	readonly onQuery?: (query: TerminalQuery) => void;
	readonly onMark?: (mark: ShellMark) => void;
};

/** All places are output offsets, of the byte with which a sequence begins. */
export type ScanState = {
	/** How far it has come. */
	readonly offset: number;
	/** Where the terminal was last between characters and sequences; `offset`, if it is there now. */
	readonly ground: number;
	/** The bytes from there on, one character for each; null if they are more than 4 KiB, and must be read from the log. */
	readonly pending: string | null;
	readonly alternate: { readonly isOn: boolean; readonly since: number };
	/** When the screen was last erased as a whole. */
	readonly clearedAt: number | null;
	readonly title: string | null;
	/** Put aside by programs, to be taken back when they end. */
	readonly titles: readonly (string | null)[];
	readonly bells: number;
	/** Since when nothing is to be shown, until a program has drawn everything. */
	readonly synchronizedSince: number | null;
	/** The DEC modes that were set or reset, by number. */
	readonly modes: Readonly<Record<string, boolean>>;
	/** The newest, oldest first; so are the queries. */
	readonly marks: readonly ShellMark[];
	readonly queries: readonly TerminalQuery[];
};

export const NOTHING_SCANNED: ScanState = {
	offset: 0,
	ground: 0,
	pending: "",
	alternate: { isOn: false, since: 0 },
	clearedAt: null,
	title: null,
	titles: [],
	bells: 0,
	synchronizedSince: null,
	modes: {},
	marks: [],
	queries: [],
};

/**
 * Where the next byte falls: after the first byte of a C1, after an escape, in the middle of a short sequence or of a
 * CSI, in an OSC or another string, and after the escape that ends one of them.
 */
type Within = "ground" | "c1" | "escape" | "intermediate" | "csi" | "osc" | "string" | "end";

const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const DEL = 0x7f;
const BACKSLASH = 0x5c;
const LEFT_BRACKET = 0x5b;
/** In UTF-8, the first byte of C1: its second one is the letter after an escape and 64 more. */
const C1_LEAD = 0xc2;
const SMALL_M = 0x6d;
const QUESTION_MARK = 0x3f;
const SEMICOLON = 0x3b;
const SMALL_C = 0x63;
const SMALL_H = 0x68;
const SMALL_L = 0x6c;
const CAPITAL_Z = 0x5a;
const NOTHING = new Uint8Array();

/** What is looked for in text. */
const TEXT_CONTROLS: readonly number[] = [ESC, BEL, C1_LEAD];
const IS_TEXT_CONTROL: Uint8Array = marked(TEXT_CONTROLS);
/** Finals of CSI that say nothing here: all but those in the list, and `m`, which are colours, if there is no question mark. */
const IS_PLAIN_FINAL: Uint8Array = marked(
	Array.from({ length: DEL - 0x40 }, (_, index) => 0x40 + index).filter(
		(final) => !"JSchlnpqtuwxy".includes(String.fromCharCode(final)),
	),
);
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
/** With a 1 it would be the title of an icon. */
const TITLE_STACK = /^\u001b\[(2[23])(?:;[02]?)?(?:;\d*)?t$/;
const OSC = /^\u001b\](\d+);?(.*)$/;
/** Status and cursor; attributes; version; keyboard; modes; sizes and titles; parameters; rectangles and tabs; graphics. */
const CSI_QUERY =
	/^\u001b\[(?:[56]n|\?[\d;]*n|[>=]?0?c|>0?q|\?u|\?[\d;]*m|\??[\d;]*\$p|(?:1[1-9]|2[01])(?:;[\d;]*)?t|[01]?x|[\d;]*(?:\*y|\$w)|\?[\d;]*S)$/;
/** Colours and the clipboard; settings and capabilities; graphics. Titles, links and what shells say are none. */
const STRING_QUERY = /^\u001b(?:\](?!(?:[0-2]|[78]|133|633);)\d+;(?:.*;)?\?(?:;|$)|P[$+]q|_G[^;]*a=q)/;

export class Scan {
	#within: Within = "ground";
	#offset: number;
	/** While a sequence is under way, where it begins. */
	#ground: number;
	/** What earlier pieces had from there on, up to `SEQUENCE_BYTES`. */
	#pending: Uint8Array = NOTHING;
	/** The last byte of the piece before. */
	#last = 0;

	#alternate: ScanState["alternate"];
	#clearedAt: number | null;
	#title: string | null;
	#titles: readonly (string | null)[];
	#bells: number;
	#synchronizedSince: number | null;
	readonly #modes: Map<number, boolean>;
	readonly #marks: ShellMark[];
	readonly #queries: TerminalQuery[];
	readonly #hears: ScanListener;

	/** Goes on from a state: the bytes from its `ground` on are to be fed next. */
	constructor(from: ScanState = NOTHING_SCANNED, hears: ScanListener = {}) {
		this.#offset = from.ground;
		this.#ground = from.ground;
		this.#alternate = from.alternate;
		this.#clearedAt = from.clearedAt;
		this.#title = from.title;
		this.#titles = from.titles;
		this.#bells = from.bells;
		this.#synchronizedSince = from.synchronizedSince;
		this.#modes = new Map(Object.entries(from.modes).map(([mode, isOn]) => [Number(mode), isOn]));
		this.#marks = [...from.marks];
		this.#queries = [...from.queries];
		this.#hears = hears;
	}

	get state(): ScanState {
		const isWhole = this.#offset - this.#ground === this.#pending.byteLength;
		return {
			offset: this.#offset,
			ground: this.#ground,
			pending: isWhole ? latin1(this.#pending) : null,
			alternate: this.#alternate,
			clearedAt: this.#clearedAt,
			title: this.#title,
			titles: this.#titles,
			bells: this.#bells,
			synchronizedSince: this.#synchronizedSince,
			modes: Object.fromEntries(this.#modes),
			marks: [...this.#marks],
			queries: [...this.#queries],
		};
	}

	/** Where the next byte will stand. */
	get offset(): number {
		return this.#offset;
	}

	/** As programs have left it; undefined if none has touched it. */
	mode(number: number): boolean | undefined {
		return this.#modes.get(number);
	}

	/** The bytes up to there can't be had: what was under way is over, and what they did is not known. */
	skipTo(offset: number): void {
		this.#offset = offset;
		this.#leave(0);
	}

	/** The next bytes of the output. */
	feed(bytes: Uint8Array): void {
		if (bytes.byteLength === 0) return;
		const plain = new Plain(bytes);
		for (let at = 0; at < bytes.byteLength; ) {
			at = this.#within === "ground" ? this.#passControl(bytes, plain.pass(at)) : this.#passSequence(bytes, at);
		}
		this.#keepPending(bytes);
		this.#offset += bytes.byteLength;
		this.#last = bytes[bytes.byteLength - 1] ?? 0;
	}

	/** What comes after plain output, if anything does in this piece. */
	#passControl(bytes: Uint8Array, at: number): number {
		if (at === bytes.byteLength) return at;
		const control = bytes[at] ?? 0;
		if (control === BEL) {
			this.#bells++;
			return this.#leave(at + 1);
		}
		this.#begin(control === ESC ? "escape" : "c1", at);
		return at + 1;
	}

	/** To the end of the sequence that is under way, or of the piece; by the rules of xterm's parser. */
	#passSequence(bytes: Uint8Array, from: number): number {
		for (let at = from; at < bytes.byteLength; at++) {
			const byte = bytes[at] ?? 0;
			if (this.#within === "end") {
				const isTerminator = byte === BACKSLASH;
				this.#noteString(bytes, at - 1, isTerminator ? at + 1 : at - 1);
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
				if (isInString) this.#noteString(bytes, at - 1, at + 1);
				this.#begin("escape", at - 1);
				if (!this.#introduce(byte - 0x40)) return this.#leave(at + 1);
			} else if (isInString) {
				if (byte !== BEL || this.#within !== "osc") continue;
				this.#noteString(bytes, at, at + 1);
				return this.#leave(at + 1);
			} else if (this.#within === "c1") {
				return this.#leave(at);
			} else if (byte > DEL && byte !== C1_LEAD) {
				// A character of text, which has no place in a sequence.
				return this.#leave(at);
			} else if (byte >= 0x20 && byte < DEL && this.#isLast(byte)) {
				if (this.#within === "csi") this.#noteCsi(bytes, at);
				else if (this.#within === "escape") this.#noteEscape(byte, at + 1);
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

	/** The bytes of the sequence that is under way, up to `end` of this piece; undefined if they are too many. */
	#sequence(bytes: Uint8Array, end: number): Uint8Array | undefined {
		const begin = this.#ground - this.#offset;
		if (end - begin > SEQUENCE_BYTES) return undefined;
		if (begin >= 0) return bytes.subarray(begin, end);
		return joined(this.#pending, bytes.subarray(0, Math.max(0, end))).subarray(0, end - begin);
	}

	#noteEscape(final: number, end: number): void {
		if (final === SMALL_C) this.#reset();
		else if (final === CAPITAL_Z) this.#ask("\u001bZ", end);
	}

	/** A CSI with its last byte at `at`. */
	#noteCsi(bytes: Uint8Array, at: number): void {
		const final = bytes[at] ?? 0;
		if (IS_PLAIN_FINAL[final] === 1 && final !== SMALL_M) return;
		const sequence = this.#sequence(bytes, at + 1);
		if (!sequence) return;
		if (final === SMALL_H || final === SMALL_L) {
			if (sequence[2] === QUESTION_MARK) this.#setModes(sequence, final === SMALL_H);
			return;
		}
		const text = withEscape(sequence);
		if (text === "\u001b[2J" || text === "\u001b[3J") this.#clearedAt = this.#ground;
		else if (text === "\u001b[!p") for (const mode of SOFT_RESET_MODES) this.#modes.delete(mode);
		else if (CSI_QUERY.test(text)) this.#ask(text, at + 1);
		else this.#stackTitle(text);
	}

	/** A string whose text ends before `textEnd`, and the sequence itself before `end`. */
	#noteString(bytes: Uint8Array, textEnd: number, end: number): void {
		const sequence = this.#sequence(bytes, textEnd);
		if (!sequence) return;
		const text = withEscape(sequence);
		if (STRING_QUERY.test(text)) {
			this.#ask(text, end);
			return;
		}
		const [, number, content = ""] = OSC.exec(text) ?? [];
		const code = Number(number);
		if (code === 0 || code === 2) this.#title = readable(content);
		else if (code === 7 || code === 133 || code === 633) {
			const mark = {
				offset: this.#ground,
				end: this.#offset + end,
				code,
				text: readable(content, SEQUENCE_BYTES),
			} as const;
			push(this.#marks, MAX_MARKS, { ...mark, text: readable(content) });
			this.#hears.onMark?.(mark);
		}
	}

	#ask(text: string, end: number): void {
		const query: TerminalQuery = { offset: this.#ground, end: this.#offset + end, text };
		push(this.#queries, MAX_QUERIES, { ...query, text: text.slice(0, TEXT_BYTES) });
		this.#hears.onQuery?.(query);
	}

	/** `CSI ? 1 ; 25 h`, without making text of it: programs that draw do this all the time. */
	#setModes(sequence: Uint8Array, isOn: boolean): void {
		let mode = 0;
		for (let at = 3; at < sequence.byteLength; at++) {
			const byte = sequence[at] ?? 0;
			if (byte >= 0x30 && byte <= 0x39) mode = mode * 10 + byte - 0x30;
			else if (byte === SEMICOLON || byte >= 0x40) {
				this.#setMode(mode, isOn);
				mode = 0;
			}
		}
	}

	#setMode(mode: number, isOn: boolean): void {
		if (!KNOWN_MODES.has(mode)) return;
		this.#modes.set(mode, isOn);
		if (ALTERNATE_MODES.has(mode)) this.#switchScreen(isOn);
		if (mode === SYNCHRONIZED_MODE) this.#synchronizedSince = isOn ? (this.#synchronizedSince ?? this.#ground) : null;
	}

	#switchScreen(isAlternate: boolean): void {
		if (this.#alternate.isOn !== isAlternate) this.#alternate = { isOn: isAlternate, since: this.#ground };
	}

	/** A full reset. */
	#reset(): void {
		this.#clearedAt = this.#ground;
		this.#synchronizedSince = null;
		this.#switchScreen(false);
		this.#modes.clear();
	}

	/** `CSI 22 t` puts the title aside, `CSI 23 t` takes it back. */
	#stackTitle(text: string): void {
		const [, direction] = TITLE_STACK.exec(text) ?? [];
		if (direction === "22") this.#titles = [...this.#titles, this.#title].slice(-MAX_TITLES);
		else if (direction === "23" && this.#titles.length > 0) {
			this.#title = this.#titles.at(-1) ?? null;
			this.#titles = this.#titles.slice(0, -1);
		}
	}
}

/** The state after a log that is complete, as far as it can be read. */
export async function scanItems(
	items: AsyncIterable<Item>,
	onMark: (mark: ShellMark, at: number) => void = () => {},
): Promise<ScanState> {
	let at = 0;
	const scan = new Scan(undefined, { onMark: (mark) => onMark(mark, at) });
	for await (const item of items) {
		if (item.kind !== "gap") at = item.time;
		if (item.kind === "gap") scan.skipTo(item.to);
		else if (item.kind === "output") scan.feed(item.bytes);
	}
	return scan.state;
}

/** What somebody is told who asks for the state of a session on pipes. */
export function noTerminal(): SessionError {
	return new SessionError("unsupported", "a session on pipes has no terminal");
}

/**
 * The plain parts of one piece: text, and the complete CSI that say nothing here. They are nearly all of any output, so
 * this is one narrow loop without any state.
 */
class Plain {
	readonly #bytes: Uint8Array;
	/** The next of each control, wherever that is: each is looked for only when it was passed. */
	readonly #next: number[] = TEXT_CONTROLS.map(() => -1);

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	/** To the first byte at or after `from` that needs a closer look, or to the end. */
	pass(from: number): number {
		const bytes = this.#bytes;
		const end = bytes.byteLength;
		for (let at = from, textFrom = from; at < end; ) {
			const byte = bytes[at] ?? 0;
			if (IS_TEXT_CONTROL[byte] === 0) {
				at = at - textFrom < NEAR_BYTES ? at + 1 : this.#farControl(at);
				continue;
			}
			if (byte === ESC) {
				const last = lastOfPlainCsi(bytes, at);
				if (last === -1) return at;
				at = last + 1;
			} else if (byte === C1_LEAD && at + 1 < end && !isC1(bytes[at + 1] ?? 0)) at++;
			else return at;
			textFrom = at;
		}
		return end;
	}

	#farControl(from: number): number {
		let nearest = this.#bytes.byteLength;
		for (let index = 0; index < TEXT_CONTROLS.length; index++) nearest = Math.min(nearest, this.#find(index, from));
		return nearest;
	}

	#find(index: number, from: number): number {
		const { buffer, byteOffset, byteLength } = this.#bytes;
		const known = this.#next[index] ?? -1;
		if (known >= from) return known;
		// A Buffer's search is the C library's, sixty times as fast as an array's.
		const found = Buffer.from(buffer, byteOffset, byteLength).indexOf(TEXT_CONTROLS[index] ?? 0, from);
		const next = found === -1 ? byteLength : found;
		this.#next[index] = next;
		return next;
	}
}

/** Where the CSI ends that begins at `at`; -1 if it says something, is not complete, or is none. */
function lastOfPlainCsi(bytes: Uint8Array, at: number): number {
	const end = bytes.byteLength;
	if (at + 2 >= end || bytes[at + 1] !== LEFT_BRACKET) return -1;
	for (let last = at + 2; last < end; last++) {
		const byte = bytes[last] ?? 0;
		if (byte >= 0x20 && byte < 0x40) continue;
		return IS_PLAIN_FINAL[byte] === 1 && (byte !== SMALL_M || bytes[at + 2] !== QUESTION_MARK) ? last : -1;
	}
	return -1;
}

function isC1(byte: number): boolean {
	return byte >= 0x80 && byte <= 0x9f;
}

/** As text, one character for each byte: ESC and what follows, without controls in the middle. */
function withEscape(sequence: Uint8Array): string {
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

/** A table in which these bytes have a one. */
function marked(bytes: readonly number[]): Uint8Array {
	return Uint8Array.from({ length: 256 }, (_, byte) => (bytes.includes(byte) ? 1 : 0));
}

function push<Value>(values: Value[], limit: number, value: Value): void {
	values.push(value);
	if (values.length > limit) values.shift();
}

/** What a person could read of it, from one character for each byte of UTF-8. */
function readable(content: string, maxBytes = TEXT_BYTES): string {
	const bytes = Buffer.from(content.slice(0, maxBytes), "latin1");
	// As a stream, so that a character that was cut is left out.
	return new TextDecoder().decode(bytes, { stream: true });
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
