/**
 * A part of a session's output as small, honest text, for who reads it by the token: what a person would have seen,
 * without what was drawn over, repeated or left out; and what is left out says where it can be read.
 *
 * Of a long part the middle is not even read: a log of any size costs the same time and memory. What a program drew on
 * the whole screen is no text; of one that still does it, the screen is told as it is now.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import { type Screens, withoutEnd } from "../core/screen.ts";
import type { FollowOptions, Session } from "../core/session.ts";
import { textOf as decoded, joined, VisibleText } from "../protocol/visible-text.ts";
import { Redaction, redactedRows } from "./redaction.ts";
import { type Line, LONGEST_LINE, TextScreen } from "./text-screen.ts";

/** What is read of the output at most, at its beginning and at its end: enough for any budget, but for a few progress bars. */
const HEAD_READ_BYTES = 512 * 1024;
const TAIL_READ_BYTES = 1536 * 1024;
/** How much is folded before others have their turn. */
const TURN_BYTES = 16 * 1024;
/** What of the budget is for the beginning, and what of it for errors in what is left out; the rest is for the end. */
const HEAD_SHARE = 0.3;
const ERROR_SHARE = 0.2;
const MOST_ERRORS = 20;
/** In UTF-16 units. */
const ERROR_LENGTH = 200;
/** What of the budget the screen may take with which a part ends. */
const SCREEN_SHARE = 0.5;
/** What one line may take of the budget. */
const LINE_SHARE = 0.2;
/** More than what says that something was left out takes, in bytes. */
const MARK_BYTES = 120;
/** From so many on, equal lines are counted. */
const FEW = 3;

const ERROR = /error|fail|panic|traceback/i;

type TextRange = {
	/** Bytes of the output that are there. */
	readonly from: number;
	readonly to: number;
	/** How long the text may be, in bytes. */
	readonly max: number;
	/** Of the terminal. */
	readonly rows: number;
	/** Whether it is for an agent, from which keys and tokens are kept. */
	readonly isRedacted?: boolean | undefined;
};

export type OutputText = {
	readonly text: string;
	/** The bytes in the middle that the text says nothing of. */
	readonly omitted: { readonly from: number; readonly to: number } | null;
};

export type TextOptions = FollowOptions & {
	readonly signal: AbortSignal;
	/** If the range ends on a full screen that is still there, what this shows now is told. */
	readonly screens?: Screens | undefined;
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

/** From which byte on, before this one, the program has the screen to itself until now; undefined if it has not. */
async function fullScreenSince(session: Session, before: number): Promise<number | undefined> {
	try {
		const { alternate } = await session.scan();
		return alternate.isOn && alternate.since < before ? alternate.since : undefined;
	} catch (error) {
		return given(error, undefined);
	}
}

/** The rows of a session's screen; none if they can't be had. */
async function shownNow(
	session: Session,
	screens: Screens,
	{ isRedacted, signal }: { readonly isRedacted: boolean | undefined; readonly signal: AbortSignal },
): Promise<readonly string[]> {
	try {
		const { lines, cols } = await screens.read(session, { signal });
		return counted(withoutEnd(isRedacted ? redactedRows(lines, cols) : lines));
	} catch (error) {
		return given(error, []);
	}
}

/** Instead of what can't be had: a text without it is still true. */
function given<Value>(error: unknown, value: Value): Value {
	if (error instanceof SessionError) return value;
	throw error;
}

/** The line that the cursor is in, of the output up to `to`, for who wants to know what was asked. */
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

/** The same of output that is there. */
export function lastLineIn(bytes: Uint8Array, rows: number): string {
	const screen = new TextScreen(0, { rows, onLine: () => {}, onFullScreen: () => {} });
	screen.take(bytes);
	return screen.lastLine().slice(-LAST_LINE_LENGTH);
}

/** Enough for a line with all its colours. */
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
	for await (const item of session.follow({ offset: from }, options)) {
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
	/** From where on all is on a full screen, if that is known. */
	readonly since: number | undefined;
};

/** Whether it ends on a full screen. */
async function fold(session: Session, range: Part, options: FollowOptions, digest: Digest): Promise<boolean> {
	const repeats = new Repeats((line) => digest.add(line));
	let hasSwitched = range.since !== undefined && range.since < range.from;
	let fullScreenSince = hasSwitched ? range.from : undefined;
	const redaction = range.isRedacted ? new Redaction(await textBefore(session, range.from, options)) : undefined;
	const onLine = ({ text, offset }: Line) => {
		const told = redaction ? redaction.line(text, text.length >= LONGEST_LINE) : text;
		if (fullScreenSince === undefined && told !== undefined) repeats.add({ text: told, offset });
	};
	const onFullScreen = (isOn: boolean, offset: number) => {
		// What is left first was entered before the part began.
		if (!isOn && !hasSwitched) digest.restart();
		const since = fullScreenSince ?? (hasSwitched ? undefined : range.from);
		hasSwitched = true;
		if (isOn) fullScreenSince ??= offset;
		else if (since !== undefined) {
			fullScreenSince = undefined;
			repeats.add({ text: `[full screen, ${sizeOf(offset - since)}]`, offset: since });
		}
	};
	const screen = new TextScreen(range.from, { rows: range.rows, onLine, onFullScreen });
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

/** More than a private key has. */
const BEFORE_BYTES = 8 * 1024;

/** What was written just before a place: something that should not be told may have begun there. */
async function textBefore(session: Session, to: number, options: FollowOptions): Promise<string> {
	const seen = new VisibleText({ hasReturns: false });
	const parts: Uint8Array[] = [];
	for await (const { offset, bytes } of pieces(session, { from: Math.max(0, to - BEFORE_BYTES), to }, options))
		parts.push(...seen.take(offset, bytes).map((run) => run.bytes));
	return decoded(joined(parts));
}

/** Counts equal lines that follow each other. */
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

/** Some rows with equal ones that follow each other counted, such as those below the text in an editor. */
export function counted(rows: readonly string[]): string[] {
	const told: string[] = [];
	const repeats = new Repeats(({ text }) => told.push(text));
	for (const text of rows) repeats.add({ text, offset: 0 });
	repeats.end();
	return told;
}

type Entry = Line & { readonly bytes: number };

/** Keeps the beginning and the end of some lines within a budget, and what looks like an error of those in between. */
class Digest {
	readonly #max: number;
	readonly #head: Entry[] = [];
	#headBytes = 0;
	#isHeadFull = false;
	#tail: Entry[] = [];
	#tailBytes = 0;
	readonly #errors: string[] = [];
	/** The first that was left out. */
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

	/** What comes now is further on: all that the beginning had no room for is left out, and what was not read. */
	skip(offset: number): void {
		this.#isHeadFull = true;
		this.#dropTo(0);
		this.#omittedFrom ??= offset;
		this.#hasSkipped = true;
	}

	/** What was added since it was skipped, or at all, was not what it seemed to be. */
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

	/** With the rows of a screen at the end. */
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

	/** The nearest to the end, within their share. */
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
