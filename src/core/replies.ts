/**
 * Answers what a program asks its terminal, while no attached terminal does.
 *
 * An answer is typed, so one that nobody waits for ends up as input of whatever reads next. Who waits for it has
 * stopped the terminal from echoing lines, is still in the foreground, and has written nothing after its question;
 * a file full of questions that is printed at a prompt is none of this, for a shell writes its prompt after it.
 */

import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Size } from "./event.ts";
import type { TerminalState } from "./process.ts";
import { KNOWN_MODES, Scan, type ShellMark, type TerminalQuery } from "./scan.ts";
import type { CursorQuery, TerminalColors } from "./session.ts";
import type { Skim } from "./skim.ts";

/** How long a program must have been silent after its question: a shell's prompt comes well within it. */
const QUIET_MS = 10;
/** How long somebody who knows where the cursor is may take to tell it. */
const CURSOR_MS = 300;
/** An answer that comes later is dropped: its program may have given up. */
export const LATE_MS = 1_000;
/** Programs ask ten things at a time; more are printed, not asked. */
const MAX_ASKED = 32;

const DEVICE_ATTRIBUTES = "\u001b[?62;22c";
/** Light on dark. */
const FOREGROUND = "#d0d0d0";
const BACKGROUND = "#000000";
/** From there on, of 255, a background is a light one: as much as the eye sees of red, green and blue. */
const LIGHT = 128;
const LUMA: readonly number[] = [0.299, 0.587, 0.114];
/** Modes that a terminal has on without being told: wrapping at the edge, the cursor. */
const USUALLY_ON: ReadonlySet<number> = new Set([7, 25]);
const CURSOR_QUERY = /^\u001b\[(\??)6n$/;
const MODE_QUERY = /^\u001b\[(\??)(\d*)\$p$/;

/** Those to which there is always the same answer. */
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
];

type RepliesOptions = {
	readonly clock: Clock;
	readonly size: () => Size;
	readonly colors?: TerminalColors | undefined;
	readonly terminal: () => TerminalState | undefined;
	/** Whether typed bytes would wait behind others, and so come at any time. */
	readonly isInputWaiting: () => boolean;
	readonly type: (text: string) => void;
	/** Hears of what shells say, which is scanned in one go with what is asked. */
	readonly onMark: (mark: ShellMark) => void;
	readonly skim?: Skim | undefined;
};

/** What was asked in one go, and is answered so, in order. */
type Batch = {
	readonly queries: readonly TerminalQuery[];
	readonly foreground: number;
	/** By the monotonic clock. */
	readonly askedAt: number;
	/** What somebody else knows, by where its query ends. */
	readonly supplied: Map<number, string>;
	isQuiet: boolean;
	cancel: () => void;
};

export class Replies {
	readonly scan: Scan;
	/** Whether somebody else answers. */
	isDelegated: boolean;
	readonly #options: RepliesOptions;
	readonly #fixed: ReadonlyMap<string, string>;
	/** In the piece of output that is being scanned. */
	#asked: TerminalQuery[] = [];
	#batch: Batch | undefined;
	readonly #batched = new Change();

	constructor(options: RepliesOptions & { readonly isDelegated: boolean }) {
		this.#options = options;
		this.#fixed = new Map([...FIXED, ...colorReplies(options.colors)]);
		this.isDelegated = options.isDelegated;
		const { onMark, skim } = options;
		this.scan = new Scan(undefined, { onQuery: (query) => this.#note(query), onMark, skim });
	}

	/** The next bytes of the output, which have just come. */
	feed(bytes: Uint8Array): void {
		this.scan.feed(bytes);
		if (this.#asked.length > 0) this.#take(this.#asked.splice(0));
	}

	#note(query: TerminalQuery): void {
		if (!this.isDelegated && this.#asked.length <= MAX_ASKED) this.#asked.push(query);
	}

	#take(asked: readonly TerminalQuery[]): void {
		const { clock, terminal } = this.#options;
		const state = terminal();
		const before = this.#batch;
		this.#drop();
		if (!state || isAtPrompt(state)) return;
		const isMore = before?.foreground === state.foreground;
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
	 * Resolves when it was asked, after `after`, where the cursor is, and it is still there; with null if the signal ends
	 * the wait.
	 */
	async untilCursorAsked(after: number, signal?: AbortSignal): Promise<CursorQuery | null> {
		while (!signal?.aborted) {
			const asked = this.#cursorQuery(after);
			if (asked) return asked;
			await this.#batched.next(signal);
		}
		return null;
	}

	/** The first such query after which there was nothing but other queries. */
	#cursorQuery(after: number): CursorQuery | undefined {
		const queries = this.#batch?.queries ?? [];
		const unmovedTo = queries.at(-1)?.end ?? 0;
		const index = queries.findLastIndex(({ end }, at) => end !== (queries[at + 1]?.offset ?? unmovedTo));
		const unmoved = queries.slice(index + 1);
		const asked = unmoved.find(({ text, end }) => end > after && CURSOR_QUERY.test(text));
		return asked && { end: asked.end, isExtended: asked.text.includes("?"), unmovedTo };
	}

	/** Somebody who knows the screen gives the answer to the query that ends there. False if nobody waits for it. */
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
		if (!this.#isWaiting(batch) || elapsed > LATE_MS || isInputWaiting()) {
			this.#drop();
			return;
		}
		const isMissing = ({ text, end }: TerminalQuery) => CURSOR_QUERY.test(text) && !batch.supplied.has(end);
		if (elapsed < CURSOR_MS && batch.queries.some(isMissing)) {
			batch.cancel();
			batch.cancel = clock.after(CURSOR_MS - elapsed, () => this.#answer(batch));
			return;
		}
		this.#drop();
		const text = batch.queries.map((query) => batch.supplied.get(query.end) ?? this.#replyTo(query.text)).join("");
		if (text !== "") type(text);
	}

	/** Whether the program that asked still waits for an answer. */
	#isWaiting({ queries, foreground }: Batch): boolean {
		const state = this.#options.terminal();
		if (!state || isAtPrompt(state) || state.foreground !== foreground) return false;
		return this.scan.offset === queries.at(-1)?.end;
	}

	/** Empty where a terminal that does not know the query would be silent, too. */
	#replyTo(query: string): string {
		const fixed = this.#fixed.get(query);
		if (fixed !== undefined) return fixed;
		const { cols, rows } = this.#options.size();
		if (query === "\u001b[18t") return `\u001b[8;${rows};${cols}t`;
		// No such capability, no such setting.
		if (query.startsWith("\u001bP+q")) return "\u001bP0+r\u001b\\";
		if (query.startsWith("\u001bP$q")) return "\u001bP0$r\u001b\\";
		const [, isExtended] = CURSOR_QUERY.exec(query) ?? [];
		// Where it most likely is: after a line of text at the bottom.
		if (isExtended !== undefined) return `\u001b[${isExtended}${rows};1R`;
		const [, isPrivate, mode] = MODE_QUERY.exec(query) ?? [];
		if (isPrivate === undefined) return "";
		return `\u001b[${isPrivate}${mode};${isPrivate === "" ? 0 : this.#modeState(Number(mode))}$y`;
	}

	/** As DECRQM has it: 0 is unknown, 1 set, 2 reset. */
	#modeState(mode: number): 0 | 1 | 2 {
		if (!KNOWN_MODES.has(mode)) return 0;
		return (this.scan.mode(mode) ?? USUALLY_ON.has(mode)) ? 1 : 2;
	}
}

/** Lines that are typed are shown: nobody here reads answers. */
function isAtPrompt({ canonical, echo }: TerminalState): boolean {
	return canonical && echo;
}

/** The colour of text, of what is behind it, and of the cursor; and whether all this is dark (1) or light (2). */
function colorReplies({ foreground = FOREGROUND, background = BACKGROUND }: TerminalColors = {}): [string, string][] {
	const told = (code: number, color: string): [string, string] => {
		const parts = channels(color).map((channel) => channel.toString(16).padStart(2, "0").repeat(2));
		return [`\u001b]${code};?`, `\u001b]${code};rgb:${parts.join("/")}\u001b\\`];
	};
	const brightness = channels(background).reduce((sum, channel, index) => sum + channel * (LUMA[index] ?? 0), 0);
	return [
		told(10, foreground),
		told(11, background),
		told(12, foreground),
		["\u001b[?996n", `\u001b[?997;${brightness < LIGHT ? 1 : 2}n`],
	];
}

/** Red, green and blue of `#rrggbb`. */
function channels(color: string): readonly number[] {
	return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
