/**
 * Renders output as short text for readers that pay per token: the lines that a person would have seen, without
 * overwritten or repeated ones. Marks show what is left out and where to read it.
 *
 * The middle of a long range is not read, so a log of any size costs the same time and memory. Output of full-screen
 * programs is not rendered as text; if one is still running, its current screen is included.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "../../core/errors.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import { withoutEnd } from "../../core/terminal/screen-view.ts";
import { textOf as decoded, joined, VisibleText } from "../../words/visible-text.ts";
import { type Line, LineRenderer, LONGEST_LINE } from "./line-renderer.ts";
import { Redactor, redactedRows } from "./redaction.ts";

/** Bytes read at the beginning and at the end: enough for any budget, except for output with many progress bars. */
const HEAD_READ_BYTES = 512 * 1024;
const TAIL_READ_BYTES = 1536 * 1024;
/** Bytes rendered before other work may run. */
const TURN_BYTES = 16 * 1024;
/** Shares of the budget for the beginning and for errors in the left-out middle; the rest is for the end. */
const HEAD_SHARE = 0.3;
const ERROR_SHARE = 0.2;
/** @limit lines that look like errors, in the left-out middle of a text | others are left out */
const MOST_ERRORS = 20;
/** In UTF-16 units. */
const ERROR_LENGTH = 200;
/** Share of the budget for the screen at the end. */
const SCREEN_SHARE = 0.5;
/** Share of the budget for one line. */
const LINE_SHARE = 0.2;
/** Upper bound for the mark of left-out text, in bytes. */
const MARK_BYTES = 120;
/** Equal lines are counted from this number on. */
const FEW = 3;

const ERROR = /error|fail|panic|traceback/i;

type TextRange = {
	/** Available output, in bytes. */
	readonly from: number;
	readonly to: number;
	/** Longest text, in bytes. */
	readonly max: number;
	/** Rows of the terminal. */
	readonly rows: number;
	/** Whether keys and tokens are redacted, as for agents. */
	readonly isRedacted?: boolean | undefined;
};

type OutputText = {
	readonly text: string;
	/** Bytes in the middle that the text leaves out. */
	readonly omitted: { readonly from: number; readonly to: number } | null;
};

export type TextOptions = FollowOptions & {
	readonly signal: AbortSignal;
	/** Used to include the current screen if a full-screen program is running at the end. */
	readonly screens?: ScreenReader | undefined;
};

export async function readText(session: Session, range: TextRange, options: TextOptions): Promise<OutputText> {
	const { from, to, max, rows, isRedacted } = range;
	const { screens, ...following } = options;
	const digest = new Digest(max);
	const isShort = to - from <= HEAD_READ_BYTES + TAIL_READ_BYTES;
	const since = screens && (await fullScreenSince(session, to));
	const head = { from, to: isShort ? to : from + HEAD_READ_BYTES, rows, since, isRedacted };
	let isFullScreen = await fold(session, head, following, digest);
	if (!isShort) {
		digest.skip(from + HEAD_READ_BYTES);
		const tail = { ...head, from: to - TAIL_READ_BYTES, to };
		isFullScreen = await fold(session, tail, following, digest);
	}
	const isStillThere = screens && since !== undefined && isFullScreen;
	return digest.finish(
		to,
		isStillThere ? await shownNow(session, screens, { isRedacted, signal: options.signal }) : [],
	);
}

/** Offset at which the program running now switched to full screen, if that is before `before`. */
async function fullScreenSince(session: Session, before: number): Promise<number | undefined> {
	try {
		const { alternate } = await session.scan();
		return alternate.isOn && alternate.since < before ? alternate.since : undefined;
	} catch (error) {
		return given(error, undefined);
	}
}

/** The rows of a session's screen; empty if it is not available. */
async function shownNow(
	session: Session,
	screens: ScreenReader,
	{ isRedacted, signal }: { readonly isRedacted: boolean | undefined; readonly signal: AbortSignal },
): Promise<readonly string[]> {
	try {
		const { lines, cols } = await screens.read(session, { signal });
		return collapseRepeats(withoutEnd(isRedacted ? redactedRows(lines, cols) : lines));
	} catch (error) {
		return given(error, []);
	}
}

/** The fallback for a `SessionError`: the text is correct without this part. */
function given<Value>(error: unknown, value: Value): Value {
	if (error instanceof SessionError) return value;
	throw error;
}

/** The line of the cursor in the output up to `to`, which is usually a prompt. */
export async function readLastLine(
	session: Session,
	to: number,
	rows: number,
	options: FollowOptions,
): Promise<string> {
	const from = Math.max(0, to - LAST_LINE_BYTES);
	const read: Uint8Array[] = [];
	for await (const { bytes } of pieces(session, { from, to }, options)) read.push(bytes);
	return lastLineIn(Buffer.concat(read), rows);
}

/** The same for bytes in memory. */
export function lastLineIn(bytes: Uint8Array, rows: number): string {
	const screen = new LineRenderer(0, { rows, onLine: () => {}, onFullScreen: () => {} });
	screen.take(bytes);
	return screen.lastLine().slice(-LAST_LINE_LENGTH);
}

/** Enough for one line with many color sequences. */
const LAST_LINE_BYTES = 4 * 1024;
/** In UTF-16 units. */
const LAST_LINE_LENGTH = 200;

type Piece = { readonly offset: number; readonly bytes: Uint8Array; readonly gap?: { from: number; to: number } };

async function* pieces(
	session: Session,
	{ from, to }: Pick<TextRange, "from" | "to">,
	options: FollowOptions,
): AsyncGenerator<Piece, void, void> {
	if (from >= to) return;
	for await (const item of session.follow({ offset: from }, { ...options, isBounded: true })) {
		if (item.kind === "gap") yield { offset: item.to, bytes: new Uint8Array(), gap: item };
		if (item.kind === "output") {
			const end = Math.min(item.bytes.byteLength, to - item.offset);
			for (let at = 0; at < end; at += TURN_BYTES) {
				yield { offset: item.offset + at, bytes: item.bytes.subarray(at, Math.min(at + TURN_BYTES, end)) };
				await nextTurn();
			}
			if (item.offset + item.bytes.byteLength >= to) return;
		} else if (item.kind === "gap" && item.to >= to) return;
	}
}

type Part = Omit<TextRange, "max"> & {
	/** Offset from which a full-screen program has the screen, if known. */
	readonly since: number | undefined;
};

/** Resolves to whether the range ends on a full screen. */
async function fold(session: Session, range: Part, options: FollowOptions, digest: Digest): Promise<boolean> {
	const repeats = new Repeats((line) => digest.add(line));
	let hasSwitched = range.since !== undefined && range.since < range.from;
	let fullScreenSince = hasSwitched ? range.from : undefined;
	const redaction = range.isRedacted ? new Redactor(await textBefore(session, range.from, options)) : undefined;
	const onLine = ({ text, offset }: Line) => {
		const line = redaction ? redaction.line(text, text.length >= LONGEST_LINE) : text;
		if (fullScreenSince === undefined && line !== undefined) repeats.add({ text: line, offset });
	};
	const onFullScreen = (isOn: boolean, offset: number) => {
		// The program left a screen that it entered before the range.
		if (!isOn && !hasSwitched) digest.restart();
		const since = fullScreenSince ?? (hasSwitched ? undefined : range.from);
		hasSwitched = true;
		if (isOn) fullScreenSince ??= offset;
		else if (since !== undefined) {
			fullScreenSince = undefined;
			repeats.add({ text: `[full screen, ${sizeOf(offset - since)}]`, offset: since });
		}
	};
	const screen = new LineRenderer(range.from, { rows: range.rows, onLine, onFullScreen });
	for await (const { bytes, gap } of pieces(session, range, options)) {
		if (gap) repeats.add({ text: `[… bytes ${gap.from} to ${gap.to} are gone]`, offset: gap.from });
		screen.take(bytes);
	}
	screen.end();
	if (fullScreenSince !== undefined) {
		const size = sizeOf(range.to - fullScreenSince);
		repeats.add({ text: `[full screen, ${size} so far]`, offset: fullScreenSince });
	}
	repeats.end();
	return fullScreenSince !== undefined;
}

/**
 * Longer than a private key.
 * @limit output before a read that is searched for keys | a key that begins earlier is not recognized
 */
const BEFORE_BYTES = 8 * 1024;

/** Output just before an offset, in which a secret may begin. */
async function textBefore(session: Session, to: number, options: FollowOptions): Promise<string> {
	const seen = new VisibleText({ hasReturns: false });
	const parts: Uint8Array[] = [];
	for await (const { offset, bytes } of pieces(session, { from: Math.max(0, to - BEFORE_BYTES), to }, options))
		parts.push(...seen.take(offset, bytes).map((run) => run.bytes));
	return decoded(joined(parts));
}

/** Counts equal lines in a row. */
class Repeats {
	readonly #next: (line: Line) => void;
	#last: Line | undefined;
	#copies: Line[] = [];
	#count = 0;

	constructor(next: (line: Line) => void) {
		this.#next = next;
	}

	add(line: Line): void {
		if (line.text === this.#last?.text) {
			if (++this.#count < FEW) this.#copies.push(line);
			return;
		}
		this.end();
		this.#last = line;
		this.#next(line);
	}

	end(): void {
		const [copy] = this.#copies;
		if (this.#count < FEW || this.#last?.text === "") this.#copies.forEach(this.#next);
		else if (copy) this.#next({ text: `[… the same line ${this.#count}× more]`, offset: copy.offset });
		this.#copies = [];
		this.#count = 0;
		this.#last = undefined;
	}
}

/** Counts equal rows in a row, such as the empty lines of an editor. */
export function collapseRepeats(rows: readonly string[]): string[] {
	const collapsed: string[] = [];
	const repeats = new Repeats(({ text }) => collapsed.push(text));
	for (const text of rows) repeats.add({ text, offset: 0 });
	repeats.end();
	return collapsed;
}

type Entry = Line & { readonly bytes: number };

/** Keeps the first and last lines within a budget, and lines that look like errors in between. */
class Digest {
	readonly #max: number;
	readonly #head: Entry[] = [];
	#headBytes = 0;
	#isHeadFull = false;
	#tail: Entry[] = [];
	#tailBytes = 0;
	readonly #errors: string[] = [];
	/** Offset of the first left-out line. */
	#omittedFrom: number | undefined;
	#hasSkipped = false;

	constructor(max: number) {
		this.#max = max;
	}

	add({ text, offset }: Line): void {
		const shortened = shorten(text, Math.floor(this.#max * LINE_SHARE));
		const entry = { text: shortened, offset, bytes: Buffer.byteLength(shortened) + 1 };
		this.#isHeadFull ||= this.#headBytes + entry.bytes > this.#max * HEAD_SHARE;
		if (!this.#isHeadFull) {
			this.#head.push(entry);
			this.#headBytes += entry.bytes;
			return;
		}
		this.#tail.push(entry);
		this.#tailBytes += entry.bytes;
		this.#dropTo(this.#max * (1 - HEAD_SHARE));
	}

	/** Skips unread output: later lines belong to the end, and lines without room in the beginning are left out. */
	skip(offset: number): void {
		this.#isHeadFull = true;
		this.#dropTo(0);
		this.#omittedFrom ??= offset;
		this.#hasSkipped = true;
	}

	/** Discards lines that turned out to be part of a full screen. */
	restart(): void {
		this.#tail = [];
		this.#tailBytes = 0;
		if (this.#hasSkipped) return;
		this.#head.length = 0;
		this.#headBytes = 0;
		this.#isHeadFull = false;
		this.#omittedFrom = undefined;
		this.#errors.length = 0;
	}

	/** Appends the rows of a screen. */
	finish(end: number, rows: readonly string[] = []): OutputText {
		const screen = screenOf(rows, this.#max * SCREEN_SHARE);
		const screenBytes = Buffer.byteLength(screen);
		if (this.#headBytes + this.#tailBytes + screenBytes > this.#max)
			this.#dropTo(this.#max - this.#headBytes - screenBytes);
		if (this.#omittedFrom === undefined) {
			return { text: textOf([...this.#head, ...this.#tail]) + screen, omitted: null };
		}
		const errors = this.#fittingErrors();
		const errorBytes = errors.reduce((bytes, text) => bytes + Buffer.byteLength(text) + 1, 0);
		this.#dropTo(this.#max - this.#headBytes - errorBytes - screenBytes - MARK_BYTES);
		const from = this.#omittedFrom;
		const to = this.#tail[0]?.offset ?? end;
		const where = `${(to - from).toLocaleString("en")} bytes left out: since=${from} limit=${to - from}`;
		const mark = `[… ${where}${errors.length > 0 ? "; errors in there:" : ""}]\n`;
		const middle = errors.map((text) => `${text}\n`).join("");
		return { text: textOf(this.#head) + mark + middle + textOf(this.#tail) + screen, omitted: { from, to } };
	}

	#dropTo(bytes: number): void {
		let dropped = 0;
		while (this.#tailBytes > bytes && dropped < this.#tail.length) {
			const entry = this.#tail[dropped++];
			if (!entry) break;
			this.#tailBytes -= entry.bytes;
			this.#omittedFrom ??= entry.offset;
			if (ERROR.test(entry.text)) this.#errors.push(shorten(entry.text, ERROR_LENGTH));
		}
		if (dropped > 0) this.#tail.splice(0, dropped);
		if (this.#errors.length > MOST_ERRORS) this.#errors.splice(0, this.#errors.length - MOST_ERRORS);
	}

	/** The errors nearest to the end that fit their share. */
	#fittingErrors(): string[] {
		let first = this.#errors.length;
		let left = this.#max * ERROR_SHARE;
		for (const text of this.#errors.toReversed()) {
			left -= Buffer.byteLength(text) + 1;
			if (left < 0) break;
			first--;
		}
		return this.#errors.slice(first);
	}
}

/** As many rows as fit, from the top. */
function screenOf(rows: readonly string[], bytes: number): string {
	let text = rows.length > 0 ? "[it shows now:]\n" : "";
	for (const [index, row] of rows.entries()) {
		const more = `${row}\n`;
		if (Buffer.byteLength(text + more) > bytes - MARK_BYTES) return `${text}[… ${rows.length - index} more rows]\n`;
		text += more;
	}
	return text;
}

function textOf(entries: readonly Entry[]): string {
	return entries.map(({ text }) => `${text}\n`).join("");
}

function shorten(text: string, length: number): string {
	const kept = Math.max(length, MARK_BYTES);
	if (text.length <= kept) return text;
	return `${text.slice(0, kept - MARK_BYTES / 2)}[… ${text.length - kept + MARK_BYTES / 2} more characters]`;
}

function sizeOf(bytes: number): string {
	return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`;
}
