/**
 * Replies to a program's terminal queries while no attached terminal does.
 *
 * A reply is typed, so a reply that the program does not expect becomes input of whatever reads next. A program that
 * waits for one has turned off canonical mode or echo, is still in the foreground, and has written nothing after its
 * query. A file full of queries printed at a shell prompt fails this test, because the shell writes its prompt
 * afterwards.
 *
 * The query for program status (OSC 7501) is an exception. The records are the session's, so the session always replies.
 * Programs query their status first, so with line mode still on the reply waits until the program turns it off.
 */

import type { Size, TerminalColors } from "../../words/state.ts";
import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";
import type { TerminalState } from "../process/process.ts";
import type { SequenceListener } from "./sequence-reader.ts";
import type { Skim } from "./skim.ts";
import { KNOWN_MODES, Scan, type ShellMark, type TerminalQuery } from "./terminal-scan.ts";

/**
 * Silence required after a query. A shell's prompt comes well within it.
 * @limit silence of a program before the session answers its query, at least | it is not answered earlier
 */
const QUIET_MS = 10;
/**
 * Time for a client that knows the cursor position to supply it.
 * @limit the server's answer to a query for the cursor | the last row and column 1 are answered
 */
const CURSOR_MS = 300;
/**
 * A later reply is dropped, because the program may have given up.
 * @limit an answer of the session to a query | it is not given
 */
export const LATE_MS = 1_000;
/**
 * Programs send about ten queries at once. More are printed text.
 * @limit queries that wait for the session's answer | further ones are not answered
 */
const MAX_ASKED = 32;

const DEVICE_ATTRIBUTES = "\u001b[?62;22c";
/** Default colors: light on dark. */
const FOREGROUND = "#d0d0d0";
const BACKGROUND = "#000000";
/** Luminance, of 255, from which a background counts as light. LUMA weighs red, green and blue. */
const LIGHT = 128;
const LUMA: readonly number[] = [0.299, 0.587, 0.114];
/** Modes that are on by default: wraparound and visible cursor. */
const USUALLY_ON: ReadonlySet<number> = new Set([7, 25]);
const CURSOR_QUERY = /^\u001b\[(\??)6n$/;
const STATUS_QUERY = "\u001b]7501;?";
/** A query for notifications. Its name is typed back, so only the characters of a name count. */
const NOTIFICATION_QUERY = /^\u001b\]99;(?:[^;]*:)?i=([\w.+-]{1,64}):(?:[^;]*:)?p=\?[:;]/;
const MODE_QUERY = /^\u001b\[(\??)(\d*)\$p$/;

/** Queries with a constant reply. */
const FIXED: readonly (readonly [query: string, reply: string])[] = [
	["\u001b[c", DEVICE_ATTRIBUTES],
	["\u001b[0c", DEVICE_ATTRIBUTES],
	["\u001bZ", DEVICE_ATTRIBUTES],
	["\u001b[>c", "\u001b[>0;10;0c"],
	["\u001b[>0c", "\u001b[>0;10;0c"],
	["\u001b[5n", "\u001b[0n"],
	["\u001b[>q", "\u001bP>|hawser\u001b\\"],
	["\u001b[>0q", "\u001bP>|hawser\u001b\\"],
	["\u001b[?u", "\u001b[?0u"],
	// The capability Pst, which reports program status.
	[`\u001bP+q${hex("Pst")}`, `\u001bP1+r${hex("Pst")}=${hex("\u001b]7501;%p1%s\u001b\\")}\u001b\\`],
];

type RepliesOptions = {
	readonly clock: Clock;
	readonly size: () => Size;
	readonly colors?: TerminalColors | undefined;
	readonly terminal: () => TerminalState | undefined;
	/** Whether a reply would be queued behind other input, and so arrive late. */
	readonly isInputWaiting: () => boolean;
	readonly type: (text: string) => void;
	/** Called for what the same scan finds. */
	readonly onMark: (mark: ShellMark) => void;
	readonly onString: SequenceListener["onString"];
	readonly onReset: () => void;
	readonly skim?: Skim | undefined;
};

/** Queries sent in one go. The replies are sent together, in order. */
type Batch = {
	readonly queries: readonly TerminalQuery[];
	readonly foreground: number;
	/** Monotonic time. */
	readonly askedAt: number;
	/** Replies from a client, by the end offset of the query. */
	readonly supplied: Map<number, string>;
	isQuiet: boolean;
	cancel: () => void;
};

export class TerminalReplies {
	readonly scan: Scan;
	/** Whether an attached terminal replies instead. */
	isDelegated: boolean;
	readonly #options: RepliesOptions;
	readonly #fixed: ReadonlyMap<string, string>;
	/** Queries in the piece of output that is being scanned. */
	#asked: TerminalQuery[] = [];
	/** Queries for program status there, while a terminal replies to the others. */
	#statusAsked: TerminalQuery[] = [];
	#batch: Batch | undefined;
	readonly #batched = new Change();

	constructor(options: RepliesOptions & { readonly isDelegated: boolean }) {
		this.#options = options;
		this.#fixed = new Map([...FIXED, ...colorReplies(options.colors)]);
		this.isDelegated = options.isDelegated;
		const { onMark, onString, onReset, skim } = options;
		this.scan = new Scan(undefined, { onQuery: (query) => this.#note(query), onMark, onString, onReset, skim });
	}

	/** Takes the next bytes of the output. */
	feed(bytes: Uint8Array): void {
		this.scan.feed(bytes);
		if (this.#statusAsked.length > 0) this.#answerStatus(this.#statusAsked.splice(0));
		if (this.#asked.length > 0) this.#take(this.#asked.splice(0));
	}

	#note(query: TerminalQuery): void {
		if (!this.isDelegated) {
			if (this.#asked.length <= MAX_ASKED) this.#asked.push(query);
		} else if (isStatusQuery(query) && this.#statusAsked.length <= MAX_ASKED) this.#statusAsked.push(query);
	}

	/**
	 * Replies at once: a program takes the attached terminal's reply to a later query as a sign that this one gets none.
	 */
	#answerStatus(asked: readonly TerminalQuery[]): void {
		if (asked.length > MAX_ASKED || !this.#options.terminal() || this.#options.isInputWaiting()) return;
		this.#options.type(asked.map((query) => this.#replyTo(query)).join(""));
	}

	#take(asked: readonly TerminalQuery[]): void {
		const { clock, terminal } = this.#options;
		const state = terminal();
		const before = this.#batch;
		this.#drop();
		if (!state) return;
		const isMore = before?.foreground === state.foreground;
		const isStatusAsked = [...(isMore ? before.queries : []), ...asked].some(isStatusQuery);
		// Programs query their status before they turn off line mode.
		if (isAtPrompt(state) && !isStatusAsked) return;
		const batch: Batch = {
			queries: isMore ? [...before.queries, ...asked] : asked,
			foreground: state.foreground,
			askedAt: isMore ? before.askedAt : clock.monotonic(),
			supplied: isMore ? before.supplied : new Map(),
			isQuiet: false,
			cancel: () => {},
		};
		if (batch.queries.length > MAX_ASKED) return;
		this.#batch = batch;
		this.#batched.happen();
		batch.cancel = clock.after(QUIET_MS, () => {
			batch.isQuiet = true;
			this.#answer(batch);
		});
	}

	/**
	 * Resolves with a query for the cursor position that ends after `after`, if the cursor is still where it was.
	 * Resolves with null when the signal aborts.
	 */
	async untilCursorAsked(after: number, signal?: AbortSignal): Promise<CursorQuery | null> {
		while (!signal?.aborted) {
			const asked = this.#cursorQuery(after);
			if (asked) return asked;
			await this.#batched.wait(signal);
		}
		return null;
	}

	/** The first such query that only other queries followed. */
	#cursorQuery(after: number): CursorQuery | undefined {
		const queries = this.#batch?.queries ?? [];
		const unmovedTo = queries.at(-1)?.end ?? 0;
		const index = queries.findLastIndex(({ end }, at) => end !== (queries[at + 1]?.offset ?? unmovedTo));
		const unmoved = queries.slice(index + 1);
		const asked = unmoved.find(({ text, end }) => end > after && CURSOR_QUERY.test(text));
		return asked && { end: asked.end, isExtended: asked.text.includes("?"), unmovedTo };
	}

	/** Supplies the reply to the query that ends there. Returns false if the program no longer waits for it. */
	supply(end: number, text: string): boolean {
		const batch = this.#batch;
		if (!batch?.queries.some((query) => query.end === end)) return false;
		batch.supplied.set(end, text);
		if (batch.isQuiet) this.#answer(batch);
		return true;
	}

	#drop(): void {
		this.#batch?.cancel();
		this.#batch = undefined;
	}

	#answer(batch: Batch): void {
		const { clock, isInputWaiting, type } = this.#options;
		const elapsed = clock.monotonic() - batch.askedAt;
		const state = this.#options.terminal();
		if (!state || !this.#isWaiting(batch, state) || elapsed > LATE_MS || isInputWaiting()) {
			this.#drop();
			return;
		}
		if (isAtPrompt(state)) {
			batch.cancel = clock.after(QUIET_MS, () => this.#answer(batch));
			return;
		}
		const isMissing = ({ text, end }: TerminalQuery) => CURSOR_QUERY.test(text) && !batch.supplied.has(end);
		if (elapsed < CURSOR_MS && batch.queries.some(isMissing)) {
			batch.cancel();
			batch.cancel = clock.after(CURSOR_MS - elapsed, () => this.#answer(batch));
			return;
		}
		this.#drop();
		const text = batch.queries.map((query) => batch.supplied.get(query.end) ?? this.#replyTo(query)).join("");
		if (text !== "") type(text);
	}

	/** Whether the program still waits for a reply. */
	#isWaiting({ queries, foreground }: Batch, state: TerminalState): boolean {
		return state.foreground === foreground && this.scan.offset === queries.at(-1)?.end;
	}

	/** The reply, or "" if a terminal that does not know the query would send none. */
	#replyTo({ text: query, terminator = "" }: TerminalQuery): string {
		if (query === STATUS_QUERY) return terminator === "" ? "" : query + terminator;
		const [, notification] = NOTIFICATION_QUERY.exec(query) ?? [];
		// They are part of the session's state, so titles and texts are taken, and actions are not.
		if (notification !== undefined) return `\u001b]99;i=${notification}:p=?;o=always:p=title,body,?${terminator}`;
		const fixed = this.#fixed.get(query);
		if (fixed !== undefined) return fixed;
		const { cols, rows } = this.#options.size();
		if (query === "\u001b[18t") return `\u001b[8;${rows};${cols}t`;
		// No such capability, no such setting.
		if (query.startsWith("\u001bP+q")) return "\u001bP0+r\u001b\\";
		if (query.startsWith("\u001bP$q")) return "\u001bP0$r\u001b\\";
		const [, isExtended] = CURSOR_QUERY.exec(query) ?? [];
		// The most likely position: after a line of text at the bottom.
		if (isExtended !== undefined) return `\u001b[${isExtended}${rows};1R`;
		const [, isPrivate, mode] = MODE_QUERY.exec(query) ?? [];
		if (isPrivate === undefined) return "";
		return `\u001b[${isPrivate}${mode};${isPrivate === "" ? 0 : this.#modeState(Number(mode))}$y`;
	}

	/** The mode's state for DECRQM: 0 unknown, 1 set, 2 reset. */
	#modeState(mode: number): 0 | 1 | 2 {
		if (!KNOWN_MODES.has(mode)) return 0;
		return (this.scan.mode(mode) ?? USUALLY_ON.has(mode)) ? 1 : 2;
	}
}

function hex(text: string): string {
	return Buffer.from(text).toString("hex");
}

function isStatusQuery({ text }: TerminalQuery): boolean {
	return text === STATUS_QUERY;
}

/** With echo and canonical mode on, the foreground program does not read replies. */
function isAtPrompt({ canonical, echo }: TerminalState): boolean {
	return canonical && echo;
}

/** Replies to color queries: foreground, background, cursor, and whether the scheme is dark (1) or light (2). */
function colorReplies({ foreground = FOREGROUND, background = BACKGROUND }: TerminalColors = {}): [string, string][] {
	const reply = (code: number, color: string): [string, string] => {
		const parts = channels(color).map((channel) => channel.toString(16).padStart(2, "0").repeat(2));
		return [`\u001b]${code};?`, `\u001b]${code};rgb:${parts.join("/")}\u001b\\`];
	};
	const brightness = channels(background).reduce((sum, channel, index) => sum + channel * (LUMA[index] ?? 0), 0);
	return [
		reply(10, foreground),
		reply(11, background),
		reply(12, foreground),
		["\u001b[?996n", `\u001b[?997;${brightness < LIGHT ? 1 : 2}n`],
	];
}

/** Red, green and blue of `#rrggbb`. */
function channels(color: string): readonly number[] {
	return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}

/** Which side replies to terminal queries. */
export type ReplySource = "session" | "terminal";

/** A query for the cursor position. `CSI ? 6 n` gets a reply with a question mark too. */
export type CursorQuery = {
	readonly end: number;
	readonly isExtended: boolean;
	/** Only other queries, which do not move the cursor, followed up to this offset. */
	readonly unmovedTo?: number;
};

/** A range of the output in which the session itself replied because the attached terminal could not be reached. */
export type SelfReplyRange = { readonly from: number; readonly to: number };
