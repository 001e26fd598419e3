/** Reads an asciicast recording, version 2 or 3. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "../../api/messages.ts";
import { SessionError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-scan.ts";
import type { Fact } from "../../core/log/event.ts";
import type { TimedFact } from "../../core/session/session-registry.ts";
import type { Size } from "../../words/state.ts";

export type CastHead = {
	readonly version: 2 | 3;
	readonly size: Size;
	/** Start time in milliseconds since the epoch, if the header has one. */
	readonly begin: number | undefined;
	readonly command: string | undefined;
	readonly title: string | undefined;
};

/**
 * Longest line in bytes. A line is one event, and terminals print far less at a time.
 * @limit a line of an imported recording | 4 MiB | 400 with the number of the line
 */
const LONGEST_LINE = 4 * 1024 * 1024;
/**
 * Length of the command and the title in UTF-16 units. Lists of sessions contain both.
 * @limit command and title of an imported recording | the rest is left out
 */
const TEXT_LENGTH = 4096;
/**
 * Each line becomes an event of a log. This many are hours of a busy terminal.
 * @limit lines of an imported recording | 400 with the number of the line
 */
const MAX_LINES = 500_000;
/** Bytes parsed before other work may run. */
const TURN_BYTES = 256 * 1024;
/** The largest time of a `Date`, in milliseconds. */
const LAST_MS = 8.64e15;
const NEWLINE = 0x0a;

/** Both functions throw `invalid_argument` with the number of a damaged line, and `unsupported` for another version. */
export function readHead(cast: Uint8Array): CastHead {
	const [{ text, number }] = linesOf(cast).next().value ?? [{ text: "", number: 1 }];
	const head = parsed(text, number);
	if (!isObject(head)) throw damaged(number, "must be the header, an object");
	const { version } = head;
	if (version !== 2 && version !== 3) {
		throw new SessionError(
			"unsupported",
			`version ${JSON.stringify(version)} of the format is not supported; 2 and 3 are`,
			{
				hint: "convert it with asciinema convert",
			},
		);
	}
	const { term, width, height } = head;
	const { cols, rows } = version === 3 && isObject(term) ? term : { cols: width, rows: height };
	const size = sizeOf(Number(cols), Number(rows));
	if (!size) throw damaged(number, `columns and rows must be from 1 to ${limits.maxSize}`);
	const { timestamp, command, title } = head;
	return {
		version,
		size,
		begin: typeof timestamp === "number" && isMoment(timestamp * 1000) ? timestamp * 1000 : undefined,
		command: textOf(command),
		title: textOf(title),
	};
}

/** The facts of the recording, with its end. Input and markers are skipped. */
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
		if (number > MAX_LINES) throw damaged(number, `the recording is too long (limit ${MAX_LINES} lines)`);
		if (number === 1 || text === "" || (version === 3 && text.startsWith("#"))) continue;
		const [time, code, data] = eventOf(text, number);
		// Version 2 has absolute times, which may decrease. Times in a log never do.
		at = version === 2 ? Math.max(at, time * 1000) : at + time * 1000;
		if (!isMoment(begin + at)) throw damaged(number, "the time is out of range");
		const fact = factOf(code, data, number);
		if (!fact || (fact.kind === "exited" && hasExited)) continue;
		hasExited ||= fact.kind === "exited";
		yield { ...fact, time: begin + Math.round(at) };
	}
	const time = begin + Math.round(at);
	// Without an exit event, the exit is unknown.
	if (hasExited) yield { kind: "closed", time };
	else yield { kind: "lost", message: "the recording has no exit status", time };
}

function factOf(code: string, data: string, line: number): Fact | undefined {
	switch (code) {
		case "o":
			return data === "" ? undefined : { kind: "output", stream: "pty", bytes: Buffer.from(data) };
		case "r": {
			const [, cols, rows] = /^(\d{1,5})x(\d{1,5})$/.exec(data) ?? [];
			const size = sizeOf(Number(cols), Number(rows));
			if (!size) throw damaged(line, "expected a size such as 80x24");
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
		return parseJson(text);
	} catch {
		throw damaged(line, "is not JSON");
	}
}

type Line = { readonly text: string; readonly number: number; readonly bytes: number };

/** The tuple keeps an empty line from looking like the end of the generator. */
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

/** Text that is valid everywhere: without NUL and half characters. */
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
