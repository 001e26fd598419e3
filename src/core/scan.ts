/**
 * What a terminal's output says about the terminal itself, folded from its bytes however they are cut: which screen and
 * modes are on, when it was cleared, its title and bells, where a shell's prompts and commands are, what was asked of it.
 *
 * It is no model of the screen. It runs where the log is, for every byte of every terminal, so what only draws is
 * passed over (`skim.ts`), and only the sequences that are left (`sequence-reader.ts`) are looked at.
 */

import { SessionError } from "./errors.ts";
import type { Item } from "./event.ts";
import { type Place, SEQUENCE_BYTES, type SequenceListener, SequenceReader, textOf } from "./sequence-reader.ts";
import type { Skim } from "./skim.ts";
import { isQuery } from "./terminal-queries.ts";

/** Of titles and marks, in bytes of UTF-8; the rest is cut off. */
const TEXT_BYTES = 512;
/** The newest are kept: as many commands as somebody looks back at; at 512 bytes each they take 32 KiB at most. */
const MAX_MARKS = 64;
/** The newest are kept. They are answered as they come; these are for whoever looks later. */
const MAX_QUERIES = 16;
/** Titles that programs have put aside; xterm keeps as many. */
const MAX_TITLES = 10;

/** A fixed set, so that no output can make it grow: what terminals of today know of `CSI ? n h`. */
export const KNOWN_MODES: ReadonlySet<number> = new Set([
	1, 3, 4, 5, 6, 7, 8, 9, 12, 25, 40, 45, 47, 66, 69, 80, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016,
	1034, 1035, 1036, 1039, 1045, 1047, 1048, 1049, 1070, 2004, 2026, 2027, 2031, 2048,
]);
const ALTERNATE_MODES: ReadonlySet<number> = new Set([47, 1047, 1049]);
const SYNCHRONIZED_MODE = 2026;
const BRACKETED_PASTES = 2004;
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
type ScanListener = {
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
	/** As it was asked for last; 0 is the usual one. Keepers that are older do not tell. */
	readonly cursorShape?: number;
	/** The DEC modes that were set or reset, by number. */
	readonly modes: Readonly<Record<string, boolean>>;
	/** The newest, oldest first; so are the queries. */
	readonly marks: readonly ShellMark[];
	readonly queries: readonly TerminalQuery[];
};

const NOTHING_SCANNED: ScanState = {
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

const QUESTION_MARK = 0x3f;
const SEMICOLON = 0x3b;
const SMALL_C = 0x63;
const SMALL_H = 0x68;
const SMALL_L = 0x6c;
const SMALL_Q = 0x71;
const CAPITAL_Z = 0x5a;

/** With a 1 it would be the title of an icon. */
const CURSOR_SHAPE = /^\u001b\[(\d{0,2}) q$/;
const TITLE_STACK = /^\u001b\[(2[23])(?:;[02]?)?(?:;\d*)?t$/;
const OSC = /^\u001b\](\d+);?(.*)$/;

type ScanOptions = ScanListener & {
	/** A faster one than ours, which does the same. */
	readonly skim?: Skim | undefined;
};

export class Scan {
	readonly #sequences: SequenceReader;
	#alternate: ScanState["alternate"];
	#clearedAt: number | null;
	#title: string | null;
	#titles: readonly (string | null)[];
	#bells: number;
	#synchronizedSince: number | null;
	#cursorShape: number;
	readonly #modes: Map<number, boolean>;
	/** Where pastes were to be marked no more. */
	#pastesEndedAt = 0;
	readonly #marks: ShellMark[];
	readonly #queries: TerminalQuery[];
	readonly #hears: ScanListener;

	/** Goes on from a state: the bytes from its `ground` on are to be fed next. */
	constructor(from: ScanState = NOTHING_SCANNED, options: ScanOptions = {}) {
		this.#sequences = new SequenceReader(from.ground, this.#listener(), options.skim);
		this.#alternate = from.alternate;
		this.#clearedAt = from.clearedAt;
		this.#title = from.title;
		this.#titles = from.titles;
		this.#bells = from.bells;
		this.#synchronizedSince = from.synchronizedSince;
		this.#cursorShape = from.cursorShape ?? 0;
		this.#modes = new Map(Object.entries(from.modes).map(([mode, isOn]) => [Number(mode), isOn]));
		this.#marks = [...from.marks];
		this.#queries = [...from.queries];
		this.#hears = options;
	}

	get state(): ScanState {
		const { offset, ground, pending } = this.#sequences;
		return {
			offset,
			ground,
			pending,
			alternate: this.#alternate,
			clearedAt: this.#clearedAt,
			title: this.#title,
			titles: this.#titles,
			bells: this.#bells,
			synchronizedSince: this.#synchronizedSince,
			cursorShape: this.#cursorShape,
			modes: Object.fromEntries(this.#modes),
			marks: [...this.#marks],
			queries: [...this.#queries],
		};
	}

	/** Where the next byte will stand. */
	get offset(): number {
		return this.#sequences.offset;
	}

	get alternate(): ScanState["alternate"] {
		return this.#alternate;
	}

	/** As programs have left it; undefined if none has touched it. */
	mode(number: number): boolean | undefined {
		return this.#modes.get(number);
	}

	/** Where a line editor last gave the terminal back, if it is one that has pastes marked. */
	get pastesEndedAt(): number {
		return this.#pastesEndedAt;
	}

	/** The bytes up to there can't be had: what was under way is over, and what they did is not known. */
	skipTo(offset: number): void {
		this.#sequences.skipTo(offset);
	}

	/** The next bytes of the output. */
	feed(bytes: Uint8Array): void {
		this.#sequences.feed(bytes);
	}

	#listener(): SequenceListener {
		return {
			onBell: () => {
				this.#bells++;
			},
			onEscape: (final, place) => this.#noteEscape(final, place),
			onCsi: (sequence, place) => this.#noteCsi(sequence, place),
			onString: (text, place) => this.#noteString(text, place),
		};
	}

	#noteEscape(final: number, place: Place): void {
		if (final === SMALL_C) this.#reset(place);
		else if (final === CAPITAL_Z) this.#ask("\u001bZ", place);
	}

	#noteCsi(sequence: Uint8Array, place: Place): void {
		const final = sequence.at(-1);
		if (final === SMALL_H || final === SMALL_L) {
			if (sequence[2] === QUESTION_MARK) this.#setModes(sequence, final === SMALL_H, place);
			return;
		}
		const text = textOf(sequence);
		if (text === "\u001b[2J" || text === "\u001b[3J") this.#clearedAt = place.offset;
		else if (text === "\u001b[!p") for (const mode of SOFT_RESET_MODES) this.#modes.delete(mode);
		else if (isQuery(text)) this.#ask(text, place);
		else if (final === SMALL_Q) this.#cursorShape = Number(CURSOR_SHAPE.exec(text)?.[1] ?? this.#cursorShape);
		else this.#stackTitle(text);
	}

	#noteString(text: string, { offset, end }: Place): void {
		if (isQuery(text)) {
			this.#ask(text, { offset, end });
			return;
		}
		const [, number, content = ""] = OSC.exec(text) ?? [];
		const code = Number(number);
		if (code === 0 || code === 2) this.#title = readable(content);
		else if (code === 7 || code === 133 || code === 633) {
			const mark = { offset, end, code, text: readable(content, SEQUENCE_BYTES) } as const;
			push(this.#marks, MAX_MARKS, { ...mark, text: readable(content) });
			this.#hears.onMark?.(mark);
		}
	}

	#ask(text: string, { offset, end }: Place): void {
		const query: TerminalQuery = { offset, end, text };
		push(this.#queries, MAX_QUERIES, { ...query, text: text.slice(0, TEXT_BYTES) });
		this.#hears.onQuery?.(query);
	}

	/** `CSI ? 1 ; 25 h`, without making text of it: programs that draw do this all the time. */
	#setModes(sequence: Uint8Array, isOn: boolean, place: Place): void {
		let mode = 0;
		for (let at = 3; at < sequence.byteLength; at++) {
			const byte = sequence[at] ?? 0;
			if (byte >= 0x30 && byte <= 0x39) mode = mode * 10 + byte - 0x30;
			else if (byte === SEMICOLON || byte >= 0x40) {
				this.#setMode(mode, isOn, place);
				mode = 0;
			}
		}
	}

	#setMode(mode: number, isOn: boolean, place: Place): void {
		if (!KNOWN_MODES.has(mode)) return;
		this.#modes.set(mode, isOn);
		if (ALTERNATE_MODES.has(mode)) this.#switchScreen(isOn, place);
		if (mode === BRACKETED_PASTES && !isOn) this.#pastesEndedAt = place.end;
		if (mode === SYNCHRONIZED_MODE) this.#synchronizedSince = isOn ? (this.#synchronizedSince ?? place.offset) : null;
	}

	#switchScreen(isAlternate: boolean, { offset }: Place): void {
		if (this.#alternate.isOn !== isAlternate) this.#alternate = { isOn: isAlternate, since: offset };
	}

	/** A full reset. */
	#reset(place: Place): void {
		this.#clearedAt = place.offset;
		this.#synchronizedSince = null;
		this.#cursorShape = 0;
		this.#switchScreen(false, place);
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
	options: { readonly skim?: Skim; readonly onMark?: (mark: ShellMark, at: number) => void } = {},
): Promise<ScanState> {
	let at = 0;
	const scan = new Scan(undefined, { ...options, onMark: (mark) => options.onMark?.(mark, at) });
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
