/**
 * Tracks the state of a terminal from its output, however the bytes are split: active screen and modes, last clear,
 * title and bells, shell prompts and commands, queries.
 *
 * It is not a screen model. It runs beside the log for every byte of every terminal, so it skips what only draws
 * (`skim.ts`) and examines only the remaining sequences (`sequence-reader.ts`).
 */

import { SessionError } from "../errors.ts";
import type { Item } from "../log/event.ts";
import { isQuery } from "./queries.ts";
import {
	SEQUENCE_BYTES,
	type SequenceListener,
	type SequenceRange,
	SequenceReader,
	textOf,
} from "./sequence-reader.ts";
import type { Skim } from "./skim.ts";

/**
 * Longest title or mark, in bytes of UTF-8. The rest is cut off.
 * @limit text of a mark or query of a terminal | it is cut
 */
const TEXT_BYTES = 512;
/**
 * Newest marks kept. At 512 bytes each they take 32 KiB at most.
 * @limit known marks of a terminal | the oldest are forgotten
 */
const MAX_MARKS = 64;
/**
 * Newest queries kept, for later inspection. Replies are sent as the queries come.
 * @limit known queries of a terminal | the oldest are forgotten
 */
const MAX_QUERIES = 16;
/**
 * Depth of the title stack, as in xterm.
 * @limit stacked titles of a terminal | the oldest are forgotten
 */
const MAX_TITLES = 10;

/** The modes of `CSI ? n h` that current terminals know. A fixed set, so that output can't make it grow. */
export const KNOWN_MODES: ReadonlySet<number> = new Set([
	1, 3, 4, 5, 6, 7, 8, 9, 12, 25, 40, 45, 47, 66, 69, 80, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016,
	1034, 1035, 1036, 1039, 1045, 1047, 1048, 1049, 1070, 2004, 2026, 2027, 2031, 2048,
]);
const ALTERNATE_MODES: ReadonlySet<number> = new Set([47, 1047, 1049]);
const SYNCHRONIZED_MODE = 2026;
const BRACKETED_PASTES = 2004;
/** Modes that a soft reset restores: cursor keys, origin, cursor, keypad. */
const SOFT_RESET_MODES: readonly number[] = [1, 6, 25, 66];

/** A prompt, command or directory reported by a shell: `OSC 133`, `633` or `7`. */
export type ShellMark = {
	/** Offsets of the sequence's beginning and end. */
	readonly offset: number;
	readonly end: number;
	readonly code: 133 | 633 | 7;
	/** Everything after the code, such as `D;0`. */
	readonly text: string;
};

/** A sequence that a terminal replies to. */
export type TerminalQuery = {
	readonly offset: number;
	readonly end: number;
	/** The sequence without its terminator, one character per byte; C1 as ESC and a letter. */
	readonly text: string;
	/** With a string. A reply about program status ends with the same one. */
	readonly terminator?: string;
};

/** Called for each as it comes, with its full text. */
type ScanListener = {
	readonly onQuery?: (query: TerminalQuery) => void;
	readonly onMark?: (mark: ShellMark) => void;
	/** See `SequenceListener`. */
	readonly onString?: SequenceListener["onString"];
	/** A full reset. */
	readonly onReset?: () => void;
};

/** All positions are output offsets of the first byte of a sequence. */
export type ScanState = {
	/** The offset that the scan has reached. */
	readonly offset: number;
	/** The last offset between characters and sequences; equal to `offset` if the terminal is there now. */
	readonly ground: number;
	/** The bytes from `ground` on, one character per byte; null if they exceed 4 KiB and must be read from the log. */
	readonly pending: string | null;
	readonly alternate: { readonly isOn: boolean; readonly since: number };
	/** Offset at which the whole screen was last erased. */
	readonly clearedAt: number | null;
	readonly title: string | null;
	/** The title stack, which programs restore when they end. */
	readonly titles: readonly (string | null)[];
	readonly bells: number;
	/** Start of the current synchronized update. */
	readonly synchronizedSince: number | null;
	/** The cursor shape last set; 0 is the default. */
	readonly cursorShape?: number;
	/** DEC modes that were set or reset, by number. */
	readonly modes: Readonly<Record<string, boolean>>;
	/** The newest marks and queries, oldest first. */
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

/** With 1 instead of 0 or 2 it would be the icon title. */
const CURSOR_SHAPE = /^\u001b\[(\d{0,2}) q$/;
const TITLE_STACK = /^\u001b\[(2[23])(?:;[02]?)?(?:;\d*)?t$/;
const OSC = /^\u001b\](\d+);?(.*)$/;

type ScanOptions = ScanListener & {
	/** A faster implementation, such as the addon's. */
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
	/** Offset at which bracketed paste was last turned off. */
	#pastesEndedAt = 0;
	readonly #marks: ShellMark[];
	readonly #queries: TerminalQuery[];
	readonly #callbacks: ScanListener;

	/** Continues from a state. The next bytes must be those from its `ground` on. */
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
		this.#callbacks = options;
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

	/** Offset of the next byte. */
	get offset(): number {
		return this.#sequences.offset;
	}

	get title(): string | null {
		return this.#title;
	}

	get alternate(): ScanState["alternate"] {
		return this.#alternate;
	}

	/** A mode as programs left it; undefined if none has set it. */
	mode(number: number): boolean | undefined {
		return this.#modes.get(number);
	}

	/** Where a line editor last returned the terminal, if it uses bracketed paste. */
	get pastesEndedAt(): number {
		return this.#pastesEndedAt;
	}

	/** Skips bytes that are lost. The current sequence ends, and their effects are unknown. */
	skipTo(offset: number): void {
		this.#sequences.skipTo(offset);
	}

	/** Takes the next bytes of the output. */
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
			onString: (text, place, terminator) => this.#noteString(text, place, terminator),
		};
	}

	#noteEscape(final: number, place: SequenceRange): void {
		if (final === SMALL_C) this.#reset(place);
		else if (final === CAPITAL_Z) this.#ask("\u001bZ", place);
	}

	#noteCsi(sequence: Uint8Array, place: SequenceRange): void {
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

	#noteString(text: string, { offset, end }: SequenceRange, terminator: string): void {
		if (isQuery(text)) {
			this.#ask(text, { offset, end }, terminator);
			return;
		}
		this.#callbacks.onString?.(text, { offset, end }, terminator);
		const [, number, content = ""] = OSC.exec(text) ?? [];
		const code = Number(number);
		if (code === 0 || code === 2) this.#title = readable(content);
		else if (code === 7 || code === 133 || code === 633) {
			const mark = { offset, end, code, text: readable(content, SEQUENCE_BYTES) } as const;
			push(this.#marks, MAX_MARKS, { ...mark, text: readable(content) });
			this.#callbacks.onMark?.(mark);
		}
	}

	#ask(text: string, { offset, end }: SequenceRange, terminator?: string): void {
		const query: TerminalQuery = { offset, end, text, ...(terminator === undefined ? {} : { terminator }) };
		push(this.#queries, MAX_QUERIES, { ...query, text: text.slice(0, TEXT_BYTES) });
		this.#callbacks.onQuery?.(query);
	}

	/** Handles `CSI ? 1 ; 25 h` without a string, because programs that draw send it all the time. */
	#setModes(sequence: Uint8Array, isOn: boolean, place: SequenceRange): void {
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

	#setMode(mode: number, isOn: boolean, place: SequenceRange): void {
		if (!KNOWN_MODES.has(mode)) return;
		this.#modes.set(mode, isOn);
		if (ALTERNATE_MODES.has(mode)) this.#switchScreen(isOn, place);
		if (mode === BRACKETED_PASTES && !isOn) this.#pastesEndedAt = place.end;
		if (mode === SYNCHRONIZED_MODE) this.#synchronizedSince = isOn ? (this.#synchronizedSince ?? place.offset) : null;
	}

	#switchScreen(isAlternate: boolean, { offset }: SequenceRange): void {
		if (this.#alternate.isOn !== isAlternate) this.#alternate = { isOn: isAlternate, since: offset };
	}

	/** A full reset. */
	#reset(place: SequenceRange): void {
		this.#clearedAt = place.offset;
		this.#synchronizedSince = null;
		this.#cursorShape = 0;
		this.#switchScreen(false, place);
		this.#modes.clear();
		this.#callbacks.onReset?.();
	}

	/** `CSI 22 t` pushes the title, `CSI 23 t` pops it. */
	#stackTitle(text: string): void {
		const [, direction] = TITLE_STACK.exec(text) ?? [];
		if (direction === "22") this.#titles = [...this.#titles, this.#title].slice(-MAX_TITLES);
		else if (direction === "23" && this.#titles.length > 0) {
			this.#title = this.#titles.at(-1) ?? null;
			this.#titles = this.#titles.slice(0, -1);
		}
	}
}

/** The state after a complete log, as far as it can be read. */
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

/** The error for terminal operations on a session with pipes. */
export function noTerminalError(): SessionError {
	return new SessionError("unsupported", "a session on pipes has no terminal");
}

function push<Value>(values: Value[], limit: number, value: Value): void {
	values.push(value);
	if (values.length > limit) values.shift();
}

/** The readable text of content that has one character per byte of UTF-8. */
function readable(content: string, maxBytes = TEXT_BYTES): string {
	const bytes = Buffer.from(content.slice(0, maxBytes), "latin1");
	// Streaming mode drops a character that was cut.
	return new TextDecoder().decode(bytes, { stream: true });
}
