/** Where the model of a session's screen begins, so that little has to be read. */

import type { Event, LogPlace, Mark, Size } from "../core/event.ts";
import type { ScanState } from "../core/scan.ts";
import type { Session } from "../core/session.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { SCROLLBACK_ROWS } from "./model.ts";
import { itemsBetween, type ReadingEnd } from "./reading.ts";
import { shownSize, sizeOf } from "./size.ts";
import { type ScreenThread, ThreadLost } from "./thread.ts";

/** A checkpoint, or a place at which nothing is known of the screen. */
export type FeederStart = Mark & Size & { readonly time?: number; readonly snapshot?: Uint8Array };

export type StartOptions = { readonly thread: ScreenThread; readonly checkpoints: Checkpoints };

/** How much output is read in any case, in bytes: it takes some milliseconds. */
const NEAR_BYTES = 256 * 1024;
/** What is read of the newest output, or of that before a full-screen program, in bytes: some pages. */
const RECENT_BYTES = 64 * 1024;
/** In how much of its newest output, in bytes, a full-screen program may have drawn everything: the first is some pictures of a common size. */
const NEWEST_BYTES: readonly number[] = [16 * 1024, 64 * 1024, NEAR_BYTES];
/** What is read besides of the output before such a program, and of its first, in bytes: a page, and how it begins. */
const BEGIN_BYTES = 16 * 1024;
/** Modes that say nothing without what was written under them, or that switch screens. */
const UNTOLD_MODES: ReadonlySet<string> = new Set(["3", "6", "7", "47", "69", "1047", "1048", "1049", "2026"]);
const NEWLINE = 0x0a;

/** For the screen at an earlier place: exact, and perhaps far back. */
export async function startBefore(session: Session, checkpoints: Checkpoints, place: LogPlace): Promise<FeederStart> {
	return (await checkpoints.nearest(place, await session.end())) ?? beginningOf(session);
}

/** For the screen of now. */
export async function startOfNow(session: Session, options: StartOptions, signal: AbortSignal): Promise<FeederStart> {
	const end = await session.end();
	const exact = (await options.checkpoints.nearest(end, end)) ?? beginningOf(session);
	if (end.offset - exact.offset <= NEAR_BYTES) return exact;
	const recent = await recentStart(session, options.thread, end, signal);
	return recent && recent.offset > exact.offset ? recent : exact;
}

function beginningOf(session: Session): FeederStart {
	return { seq: 1, offset: 0, ...(session.spec.firstSize ?? sizeOf(session)) };
}

/**
 * Where nobody has looked for long: what lines scroll over shows nothing of what came before its newest pages, and a
 * full-screen program draws on an empty screen, often all of it. Modes and the title are known without the output that
 * set them; a colour, a margin or a charset that was left on before that is not.
 */
async function recentStart(
	session: Session,
	thread: ScreenThread,
	end: Mark,
	signal: AbortSignal,
): Promise<FeederStart | undefined> {
	// Keepers that are older do not know.
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
	readonly thread: ScreenThread;
	readonly scan: ScanState;
	readonly end: Mark;
	readonly signal: AbortSignal;
};

/** The end of the log, with its newest pages, if enough lines end there to fill the screen. */
async function linesStart({ session, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const size = sizeOf(session);
	const events = await eventsBetween(session, { offset: end.offset - RECENT_BYTES }, end, signal);
	const output = outputOf(events ?? []);
	if (output.filter((byte) => byte === NEWLINE).length <= size.rows) return undefined;
	return { ...end, ...size, time: events?.at(-1)?.time ?? 0, snapshot: Buffer.concat([told(scan), output]) };
}

/** Before a full-screen program, with all that follows still to be read. */
async function programStart({ session, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const offset = scan.alternate.since - RECENT_BYTES;
	if (offset <= 0) return undefined;
	for await (const item of itemsBetween(session, { offset }, end, signal)) {
		if (item.kind === "gap") return undefined;
		return { seq: item.seq, offset: item.offset, ...sizeOf(session), snapshot: told(scan) };
	}
	return undefined;
}

/** What is known by the scan of what came before. */
export function told({ modes, title, cursorShape }: ScanState): Uint8Array<ArrayBuffer> {
	const set = Object.entries(modes).filter(([mode]) => !UNTOLD_MODES.has(mode));
	const setting = set.map(([mode, isSet]) => `\x1b[?${mode}${isSet ? "h" : "l"}`).join("");
	const shape = cursorShape === undefined ? "" : `\x1b[${cursorShape} q`;
	return new TextEncoder().encode(`${setting}${shape}${title === null ? "" : `\x1b]2;${title}\x1b\\`}`);
}

/** The end of the log, with what is shown there, if a full-screen program has drawn all of it since not long ago. */
async function drawnStart({ session, thread, scan, end, signal }: Recent): Promise<FeederStart | undefined> {
	const { since } = scan.alternate;
	const first = { offset: Math.max(0, since - BEGIN_BYTES) };
	const begin = await eventsBetween(session, first, { offset: since + BEGIN_BYTES }, signal);
	// What is gone is not shown behind the program.
	const before = Buffer.concat([begin ? outputOf(begin) : ascii("\x1b[?1049h"), ascii(CANCEL), told(scan)]);
	const size = sizeOf(session);
	for (const bytes of NEWEST_BYTES) {
		const events = await eventsBetween(session, { offset: end.offset - bytes }, end, signal);
		// A program draws anew for another size.
		const newest = outputOf(events?.slice(events.findLastIndex(({ kind }) => kind === "resized") + 1) ?? []);
		if (newest.byteLength === 0) return undefined;
		const asked = { size: shownSize(size), scrollback: SCROLLBACK_ROWS, before, newest };
		const snapshot = await thread.ask(thread.newModel(), "newest", asked).catch(unlessLost);
		if (snapshot) return { ...end, ...size, time: events?.at(-1)?.time ?? 0, snapshot };
	}
	return undefined;
}

/** Ends a sequence that is under way. */
const CANCEL = "\x18";

/** Undefined where some of them are gone. */
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

/** Whatever ended the thread is met again on the other way, and dealt with there. */
function unlessLost(error: unknown): undefined {
	if (!(error instanceof ThreadLost)) throw error;
}

function ascii(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
