/**
 * Exports a part of a session's log as a recording. A part that does not begin at the start of the session begins with
 * a snapshot of the screen, which later output builds on.
 */

import type { RecordingFormat } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import type { OffsetOrTime } from "../../core/log/event.ts";
import { byteLength, type Event, type Item, LOG_START } from "../../core/log/event.ts";
import type { Session } from "../../core/session/session.ts";
import type { ShellCommand } from "../../core/shell/shell-marks.ts";
import type { Snapshot } from "../../core/terminal/screen-view.ts";
import type { Exit } from "../../words/state.ts";
import { Asciicast } from "./asciicast-writer.ts";

/** Length of text that is collected before it is sent. */
const PIECE_LENGTH = 32 * 1024;

export type RecordingOptions = {
	readonly format: RecordingFormat;
	readonly from: OffsetOrTime | undefined;
	readonly to: OffsetOrTime | undefined;
	readonly idleLimitMs: number | undefined;
	readonly signal: AbortSignal;
	/** The screen at a position, if available. */
	readonly screenAt: (place: OffsetOrTime) => Promise<Snapshot | undefined>;
};

/** Exports the log as far as it is now. Reading always starts at the beginning of the log, since the terminal's size at a position is known only from the events before it. */
export async function* record(session: Session, options: RecordingOptions): AsyncGenerator<string, void, void> {
	const { seq: end } = await session.end();
	const { from, to } = options;
	const commands = new CommandsToCome(await knownCommands(session));
	let size = session.spec.firstSize ?? session.state.size;
	let exited: { readonly time: number; readonly exit: Exit } | undefined;
	let text = "";
	const begin = (time: number, screen?: Snapshot) => {
		const { format, idleLimitMs } = options;
		const first = screen ? { cols: screen.cols, rows: screen.rows } : size;
		const begun = new Asciicast(format, { spec: session.spec, size: first, begin: time, idleLimitMs });
		text += begun.begin();
		if (screen) text += begun.output(time, "pty", screen.bytes);
		// The size changed exactly at that position.
		if (first.cols !== size.cols || first.rows !== size.rows) text += begun.resized(time, size);
		return begun;
	};
	const screen = from && (await options.screenAt(from));
	let cast = from ? undefined : begin(session.spec.createdAt);
	for await (const item of itemsBefore(end, session, options.signal)) {
		if (item.kind === "gap") {
			if (cast) text += cast.gap(item);
			continue;
		}
		if (to && isAfter(item, to)) break;
		// The screen at a time includes events of the same time.
		const isShown = screen !== undefined && from !== undefined && "time" in from && item.seq < screen.seq;
		if (from && !cast && (isShown || isBefore(item, from))) {
			if (item.kind === "resized") size = item.size;
			continue;
		}
		cast ??= begin(from && "time" in from ? from.time : item.time, screen);
		if (item.kind === "output") {
			for (const { bytes, begun } of commands.divide(between(item, from, to))) {
				text += cast.output(item.time, item.stream, bytes);
				if (begun) text += cast.marker(item.time, begun.command ?? "");
			}
		} else if (item.kind === "resized") text += cast.resized(item.time, item.size);
		else if (item.kind === "exited") exited = item;
		if (text.length < PIECE_LENGTH) continue;
		yield text;
		text = "";
	}
	cast ??= begin(from && "time" in from ? from.time : session.spec.createdAt);
	yield text + cast.end(exited);
}

/** Empty for older keepers, which do not support this. */
async function knownCommands(session: Session): Promise<readonly ShellCommand[]> {
	try {
		return (await session.commands()).commands;
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return [];
		throw error;
	}
}

type Piece = { readonly offset: number; readonly bytes: Uint8Array };

/** Finds the starts of shell commands as the output is read. */
class CommandsToCome {
	readonly #commands: readonly ShellCommand[];
	#next = 0;

	constructor(commands: readonly ShellCommand[]) {
		this.#commands = commands;
	}

	/** Splits output at the starts of commands. */
	*divide({ offset, bytes }: Piece): Generator<{ readonly bytes: Uint8Array; readonly begun?: ShellCommand }> {
		let done = 0;
		for (let begun = this.#commands[this.#next]; begun; begun = this.#commands[++this.#next]) {
			const length = begun.from - offset;
			if (length > bytes.byteLength) break;
			// The command began before the recorded output.
			if (length <= done) continue;
			yield { bytes: bytes.subarray(done, length), begun };
			done = length;
		}
		yield { bytes: bytes.subarray(done) };
	}
}

/** All items before an event number, without waiting for more. */
export async function* itemsBefore(
	end: number,
	session: Session,
	signal: AbortSignal,
): AsyncGenerator<Item, void, void> {
	if (end <= 1) return;
	for await (const item of session.follow(LOG_START, { signal, isBounded: true })) {
		const next = item.kind === "gap" ? item.nextSeq : item.seq + 1;
		if (item.kind !== "gap" && item.seq >= end) return;
		yield item;
		if (next >= end) return;
	}
}

/** An event without bytes at an offset comes before the byte there. */
function isBefore(event: Event, from: OffsetOrTime): boolean {
	if ("time" in from) return event.time < from.time;
	return event.offset + byteLength(event) <= from.offset;
}

function isAfter(event: Event, to: OffsetOrTime): boolean {
	if ("time" in to) return event.time > to.time;
	return event.kind === "output" ? event.offset >= to.offset : event.offset > to.offset;
}

/** The bytes of an event between two positions. */
function between(
	{ offset, bytes }: Extract<Event, { kind: "output" }>,
	from: OffsetOrTime | undefined,
	to: OffsetOrTime | undefined,
): Piece {
	const begin = from && "offset" in from ? Math.max(0, from.offset - offset) : 0;
	const end = to && "offset" in to ? Math.max(begin, to.offset - offset) : bytes.byteLength;
	return { offset: offset + begin, bytes: bytes.subarray(begin, end) };
}
