/**
 * Reads a session's log as a recording: what was shown, and when, between two places. One that does not begin with the
 * session begins with the screen of its first moment: what follows draws on that.
 */

import { SessionError } from "../../../core/errors.ts";
import type { LogPlace } from "../../../core/event.ts";
import { byteLength, type Event, type Exit, type Item } from "../../../core/event.ts";
import type { Snapshot } from "../../../core/screen.ts";
import type { Session } from "../../../core/session.ts";
import type { ShellCommand } from "../../../core/shell-marks.ts";
import type { RecordingFormat } from "../../../protocol/past.ts";
import { Asciicast } from "./asciicast.ts";

/** How much text is gathered before it is sent. */
const PIECE_LENGTH = 32 * 1024;

export type RecordingOptions = {
	readonly format: RecordingFormat;
	readonly from: LogPlace | undefined;
	readonly to: LogPlace | undefined;
	readonly idleLimitMs: number | undefined;
	readonly signal: AbortSignal;
	/** What was shown at a place, if that can be had. */
	readonly screenAt: (place: LogPlace) => Promise<Snapshot | undefined>;
};

/** All that there is by now. It is read from its beginning in any case, because the size at a later place is known only by that. */
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
		// Changed at that very place.
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
		// What happened at that very moment is on the screen of it.
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

/** Keepers that are older do not know them. */
async function knownCommands(session: Session): Promise<readonly ShellCommand[]> {
	try {
		return (await session.commands()).commands;
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return [];
		throw error;
	}
}

type Piece = { readonly offset: number; readonly bytes: Uint8Array };

/** Where a shell's commands begin, found as the output goes by. */
class CommandsToCome {
	readonly #commands: readonly ShellCommand[];
	#next = 0;

	constructor(commands: readonly ShellCommand[]) {
		this.#commands = commands;
	}

	/** Output in parts, each but the last up to where a command begins. */
	*divide({ offset, bytes }: Piece): Generator<{ readonly bytes: Uint8Array; readonly begun?: ShellCommand }> {
		let done = 0;
		for (let begun = this.#commands[this.#next]; begun; begun = this.#commands[++this.#next]) {
			const length = begun.from - offset;
			if (length > bytes.byteLength) break;
			// It began in what is not recorded.
			if (length <= done) continue;
			yield { bytes: bytes.subarray(done, length), begun };
			done = length;
		}
		yield { bytes: bytes.subarray(done) };
	}
}

/** What has happened before the event of that number, without a wait for more. */
export async function* itemsBefore(
	end: number,
	session: Session,
	signal: AbortSignal,
): AsyncGenerator<Item, void, void> {
	if (end <= 1) return;
	for await (const item of session.follow({ seq: 1 }, { signal })) {
		const next = item.kind === "gap" ? item.nextSeq : item.seq + 1;
		if (item.kind !== "gap" && item.seq >= end) return;
		yield item;
		if (next >= end) return;
	}
}

/** An event without bytes stands between them: at a place, it comes before the byte there. */
function isBefore(event: Event, from: LogPlace): boolean {
	if ("time" in from) return event.time < from.time;
	return event.offset + byteLength(event) <= from.offset;
}

function isAfter(event: Event, to: LogPlace): boolean {
	if ("time" in to) return event.time > to.time;
	return event.kind === "output" ? event.offset >= to.offset : event.offset > to.offset;
}

/** The bytes of an event that lie between two places. */
function between(
	{ offset, bytes }: Extract<Event, { kind: "output" }>,
	from: LogPlace | undefined,
	to: LogPlace | undefined,
): Piece {
	const begin = from && "offset" in from ? Math.max(0, from.offset - offset) : 0;
	const end = to && "offset" in to ? Math.max(begin, to.offset - offset) : bytes.byteLength;
	return { offset: offset + begin, bytes: bytes.subarray(begin, end) };
}
