/** Chooses where to start rendering a session's screen, so that little output has to be read. */

import type { Event, LogPosition, OffsetOrTime } from "../../core/log/event.ts";
import type { Session } from "../../core/session/session.ts";
import type { ScanState } from "../../core/terminal/terminal-scan.ts";
import { type EmulatorThread, EmulatorThreadEnded } from "../../emulator/emulator-thread.ts";
import { SCROLLBACK_ROWS } from "../../emulator/requests.ts";
import type { Size } from "../../words/state.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { itemsBetween, type ReadingEnd } from "./items-between.ts";
import { shownSize, sizeOf } from "./screen-size.ts";

/** A checkpoint, or a position without a known screen. */
export type FeederStart = LogPosition & Size & { readonly time?: number; readonly snapshot?: Uint8Array };

type StartOptions = { readonly thread: EmulatorThread; readonly checkpoints: Checkpoints };

/** Output that is always read, in bytes; it takes a few milliseconds. */
const NEAR_BYTES = 256 * 1024;
/** Bytes read of the newest output, or of the output before a full-screen program: a few pages. */
const RECENT_BYTES = 64 * 1024;
/** Sizes of newest output, in bytes, in which a full-screen program may have redrawn everything. The first fits a few common screens. */
const NEWEST_BYTES: readonly number[] = [16 * 1024, 64 * 1024, NEAR_BYTES];
/** Bytes read additionally of the output before such a program and of its beginning. */
const BEGIN_BYTES = 16 * 1024;
/** Modes that depend on the output written under them, or that switch screens. */
const UNSET_MODES: ReadonlySet<string> = new Set(["3", "6", "7", "47", "69", "1047", "1048", "1049", "2026"]);
const NEWLINE = 0x0a;

/** The start for the screen at an earlier position: exact, but perhaps far back. */
export async function startBefore(
	session: Session,
	checkpoints: Checkpoints,
	position: OffsetOrTime,
): Promise<FeederStart> {
	return (await checkpoints.nearest(position, await session.end())) ?? beginningOf(session);
}

/** The start for the current screen. */
export async function startOfNow(session: Session, options: StartOptions, signal: AbortSignal): Promise<FeederStart> {
	const end = await session.end();
	const exact = (await options.checkpoints.nearest(end, end)) ?? beginningOf(session);
	if (end.offset - exact.offset <= NEAR_BYTES) return exact;
	const recentOutputStart = await recentStart(session, options.thread, end, signal);
	return recentOutputStart && recentOutputStart.offset > exact.offset ? recentOutputStart : exact;
}

function beginningOf(session: Session): FeederStart {
	return { seq: 1, offset: 0, ...(session.spec.firstSize ?? sizeOf(session)) };
}

/**
 * A start without a recent checkpoint. Lines that scroll hide everything before the newest pages, and a full-screen
 * program starts on an empty screen and often redraws all of it. The scan knows modes and the title without the output
 * that set them; a color, a margin or a charset set earlier is lost.
 */
async function recentStart(
	session: Session,
	thread: EmulatorThread,
	end: LogPosition,
	signal: AbortSignal,
): Promise<FeederStart | undefined> {
	// Older keepers do not support this.
	const scan = await session.scan().catch(() => undefined);
	if (!scan) return undefined;
	const recent = { session, thread, scan, end, signal };
	const { isOn, since } = scan.alternate;
	if (!isOn) return since > end.offset - RECENT_BYTES ? undefined : linesStart(recent);
	const isFar = end.offset - since > NEAR_BYTES;
	return (isFar ? await drawnStart(recent) : undefined) ?? programStart(recent);
}

type Recent = {
	readonly session: Session;
	readonly thread: EmulatorThread;
	readonly scan: ScanState;
	readonly end: LogPosition;
	readonly signal: AbortSignal;
};

/** The end of the log with its newest pages, if they have enough lines to fill the screen. */
async function linesStart({ session, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const size = sizeOf(session);
	const events = await eventsBetween(session, { offset: end.offset - RECENT_BYTES }, end, signal);
	const output = outputOf(events ?? []);
	if (output.filter((byte) => byte === NEWLINE).length <= size.rows) return undefined;
	return { ...end, ...size, time: events?.at(-1)?.time ?? 0, snapshot: Buffer.concat([scanAsSequences(scan), output]) };
}

/** A start before a full-screen program. All output since then has to be read. */
async function programStart({ session, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const offset = scan.alternate.since - RECENT_BYTES;
	if (offset <= 0) return undefined;
	for await (const item of itemsBetween(session, { offset }, end, signal)) {
		if (item.kind === "gap") return undefined;
		return { seq: item.seq, offset: item.offset, ...sizeOf(session), snapshot: scanAsSequences(scan) };
	}
	return undefined;
}

/** The modes and the title that the scan knows, as escape sequences. */
export function scanAsSequences({ modes, title, cursorShape }: ScanState): Uint8Array<ArrayBuffer> {
	const set = Object.entries(modes).filter(([mode]) => !UNSET_MODES.has(mode));
	const setting = set.map(([mode, isSet]) => `\x1b[?${mode}${isSet ? "h" : "l"}`).join("");
	const shape = cursorShape === undefined ? "" : `\x1b[${cursorShape} q`;
	return new TextEncoder().encode(`${setting}${shape}${title === null ? "" : `\x1b]2;${title}\x1b\\`}`);
}

/** The end of the log with a snapshot, if a full-screen program has recently redrawn its whole screen. */
async function drawnStart({ session, thread, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const { since } = scan.alternate;
	const first = { offset: Math.max(0, since - BEGIN_BYTES) };
	const begin = await eventsBetween(session, first, { offset: since + BEGIN_BYTES }, signal);
	// If the output before the program is gone, the screen behind it is empty.
	const before = Buffer.concat([begin ? outputOf(begin) : ascii("\x1b[?1049h"), ascii(CANCEL), scanAsSequences(scan)]);
	const size = sizeOf(session);
	for (const bytes of NEWEST_BYTES) {
		const events = await eventsBetween(session, { offset: end.offset - bytes }, end, signal);
		// A program redraws after a resize.
		const newest = outputOf(events?.slice(events.findLastIndex(({ kind }) => kind === "resized") + 1) ?? []);
		if (newest.byteLength === 0) return undefined;
		const asked = { size: shownSize(size), scrollback: SCROLLBACK_ROWS, before, newest };
		const snapshot = await thread.ask(thread.newModel(), "newest", asked).catch(unlessLost);
		if (snapshot) return { ...end, ...size, time: events?.at(-1)?.time ?? 0, snapshot };
	}
	return undefined;
}

/** Cancels an incomplete escape sequence. */
const CANCEL = "\x18";

/** Undefined if some of them are gone. */
async function eventsBetween(
	session: Session,
	from: { readonly offset: number },
	to: ReadingEnd,
	signal: AbortSignal,
): Promise<readonly Event[] | undefined> {
	const events: Event[] = [];
	for await (const item of itemsBetween(session, from, to, signal)) {
		if (item.kind === "gap") return undefined;
		events.push(item);
	}
	return events;
}

function outputOf(events: readonly Event[]): Uint8Array {
	return Buffer.concat(events.flatMap((event) => (event.kind === "output" ? [event.bytes] : [])));
}

/** The regular way will meet and handle the same failure. */
function unlessLost(error: unknown): undefined {
	if (!(error instanceof EmulatorThreadEnded)) throw error;
}

function ascii(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
