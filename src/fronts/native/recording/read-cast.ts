/** Reads a recording as asciinema has it, versions 2 and 3: what was shown, at which size, and when. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "../../../core/errors.ts";
import type { Fact, Size } from "../../../core/event.ts";
import type { TimedFact } from "../../../core/sessions.ts";
import { limits } from "../../../protocol/messages.ts";

export type CastHead = {
	readonly version: 2 | 3;
	readonly size: Size;
	/** When it begins, in milliseconds since the epoch, if it says so. */
	readonly begin: number | undefined;
	readonly command: string | undefined;
	readonly title: string | undefined;
};

/** A line is one event, so this is far more than terminals show at a time; in bytes. */
const LONGEST_LINE = 4 * 1024 * 1024;
/** Of its command and its title, which lists of sessions tell, in UTF-16 units: what is after it is left out. */
const TEXT_LENGTH = 4096;
/** Each event is one of a log, which is read one by one: this is hours of a busy terminal. */
const MAX_LINES = 500_000;
/** How much is read before others have their turn, in bytes. */
const TURN_BYTES = 256 * 1024;
/** The latest moment that a date can have, in milliseconds. */
const LAST_MS = 8.64e15;
const NEWLINE = 0x0a;

/** Both throw `invalid_argument` with the number of the line that is damaged, `unsupported` for another version. */
export function readHead(cast: Uint8Array): CastHead {
	const [{ text, number }] = linesOf(cast).next().value ?? [{ text: "", number: 1 }];
	const head = parsed(text, number);
	if (!isObject(head)) throw damaged(number, "must be the header, an object");
	const { version } = head;
	if (version !== 2 && version !== 3) {
		throw new SessionError(
			"unsupported",
			`this is version ${JSON.stringify(version)} of the format; 2 and 3 are read`,
			{
				hint: "asciinema convert makes one of the other",
			},
		);
	}
	const { term, width, height } = head;
	const { cols, rows } = version === 3 && isObject(term) ? term : { cols: width, rows: height };
	const size = sizeOf(Number(cols), Number(rows));
	if (!size) throw damaged(number, `the size must be from 1 to ${limits.maxSize}`);
	const { timestamp, command, title } = head;
	return {
		version,
		size,
		begin: typeof timestamp === "number" && isMoment(timestamp * 1000) ? timestamp * 1000 : undefined,
		command: textOf(command),
		title: textOf(title),
	};
}

/** What happened, to the end; what was typed, and marks, are not a part of it. */
export async function* readEvents(
	cast: Uint8Array,
	{ version }: Pick<CastHead, "version">,
	begin: number,
): AsyncGenerator<TimedFact, void, void> {
	let at = 0;
	let hasExited = false;
	let read = 0;
	for (const [{ text, number, bytes }] of linesOf(cast)) {
		read += bytes;
		if (read > TURN_BYTES) {
			read = 0;
			await nextTurn();
		}
		if (number > MAX_LINES) throw damaged(number, `there are more than ${MAX_LINES}, the most that are taken in`);
		if (number === 1 || text === "" || (version === 3 && text.startsWith("#"))) continue;
		const [time, code, data] = eventOf(text, number);
		// In version 2 they are not intervals, and may be wrong; nothing that happened later was earlier.
		at = version === 2 ? Math.max(at, time * 1000) : at + time * 1000;
		if (!isMoment(begin + at)) throw damaged(number, "the time is too far away");
		const fact = factOf(code, data, number);
		if (!fact || (fact.kind === "exited" && hasExited)) continue;
		hasExited ||= fact.kind === "exited";
		yield { ...fact, time: begin + Math.round(at) };
	}
	const time = begin + Math.round(at);
	// How the program ended is not made up where it is not said.
	if (hasExited) yield { kind: "closed", time };
	else yield { kind: "lost", message: "the recording does not say how the program ended", time };
}

function factOf(code: string, data: string, line: number): Fact | undefined {
	switch (code) {
		case "o":
			return data === "" ? undefined : { kind: "output", stream: "pty", bytes: Buffer.from(data) };
		case "r": {
			const [, cols, rows] = /^(\d{1,5})x(\d{1,5})$/.exec(data) ?? [];
			const size = sizeOf(Number(cols), Number(rows));
			if (!size) throw damaged(line, "a size must be as in 80x24");
			return { kind: "resized", size };
		}
		case "x":
			if (!/^\d{1,3}$/.test(data)) throw damaged(line, "an exit code must be a number");
			return { kind: "exited", exit: { code: Number(data), signal: null } };
		default:
			return undefined;
	}
}

function eventOf(text: string, line: number): [time: number, code: string, data: string] {
	const event = parsed(text, line);
	const [time, code, data] = Array.isArray(event) ? (event as unknown[]) : [];
	const isTime = typeof time === "number" && Number.isFinite(time) && time >= 0;
	if (isTime && typeof code === "string" && typeof data === "string") return [time, code, data];
	throw damaged(line, 'must be an event such as [1.5, "o", "text"]');
}

function parsed(text: string, line: number): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw damaged(line, "is no JSON");
	}
}

type Line = { readonly text: string; readonly number: number; readonly bytes: number };

/** In a tuple, so that a line is never taken for the end. */
function* linesOf(cast: Uint8Array): Generator<[Line], void, void> {
	const decoder = new TextDecoder();
	for (let from = 0, number = 1; from < cast.byteLength; number++) {
		const newline = cast.indexOf(NEWLINE, from);
		const end = newline < 0 ? cast.byteLength : newline;
		if (end - from > LONGEST_LINE) throw damaged(number, `is longer than ${LONGEST_LINE} bytes`);
		yield [{ text: decoder.decode(cast.subarray(from, end)).trim(), number, bytes: end - from }];
		from = end + 1;
	}
}

/** As text that is everywhere the same: neither NUL nor half a character is. */
function textOf(value: unknown): string | undefined {
	if (typeof value !== "string") return undefined;
	return Buffer.from(value.slice(0, TEXT_LENGTH)).toString().replaceAll("\0", "\ufffd");
}

function sizeOf(cols: number, rows: number): Size | undefined {
	const isSize = (value: number) => Number.isInteger(value) && value >= 1 && value <= limits.maxSize;
	return isSize(cols) && isSize(rows) ? { cols, rows } : undefined;
}

function isMoment(ms: number): boolean {
	return ms >= 0 && ms <= LAST_MS;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function damaged(line: number, what: string): SessionError {
	return new SessionError("invalid_argument", `line ${line} of the recording: ${what}`);
}
