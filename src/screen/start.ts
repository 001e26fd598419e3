/** Where the model of a session's screen begins, so that little has to be read. */

import { SessionError } from "../core/errors.ts";
import type { LogPlace, Mark, Size } from "../core/event.ts";
import type { Session } from "../core/session.ts";
import type { Checkpoints } from "./checkpoints.ts";

/** A checkpoint, or a place at which nothing is known of the screen. */
export type FeederStart = Mark & Size & { readonly time?: number; readonly snapshot?: Uint8Array };

/** How much output is read in any case, in bytes: it takes some milliseconds. */
const NEAR_BYTES = 256 * 1024;
/** What is read of the newest output, or of that before a full-screen program, in bytes: some pages. */
const RECENT_BYTES = 64 * 1024;
/** Modes that say nothing without what was written under them, or that switch screens. */
const UNTOLD_MODES: ReadonlySet<string> = new Set(["3", "6", "7", "47", "69", "1047", "1048", "1049", "2026"]);
const NEWLINE = 0x0a;

/** For the screen of now; or, exact and perhaps far back, for that of an earlier place. */
export async function startOf(session: Session, checkpoints: Checkpoints, place?: LogPlace): Promise<FeederStart> {
	const end = await session.end();
	const checkpoint = await checkpoints.nearest(place ?? { offset: end.offset }, end);
	const exact = checkpoint ?? { seq: 1, offset: 0, ...(session.spec.firstSize ?? sizeOf(session)) };
	if (place || end.offset - exact.offset <= NEAR_BYTES) return exact;
	const recent = await recentStart(session, end);
	return recent && recent.offset > exact.offset ? recent : exact;
}

/**
 * Where nobody has looked for long: what lines scroll over shows nothing of what came before its newest pages, and a
 * full-screen program draws on an empty screen. Modes and the title are known without the output that set them; a
 * colour, a margin or a charset that was left on before that is not.
 */
async function recentStart(session: Session, end: Mark): Promise<FeederStart | undefined> {
	// Keepers that are older do not know.
	const scan = await session.scan().catch(() => undefined);
	if (!scan) return undefined;
	const { isOn, since } = scan.alternate;
	const offset = (isOn ? since : end.offset) - RECENT_BYTES;
	if (offset <= 0 || (!isOn && since > offset)) return undefined;
	const size = sizeOf(session);
	const found = await lookAt(session, offset, end, isOn ? 0 : size.rows + 1);
	if (!found) return undefined;
	const modes = Object.entries(scan.modes).filter(([mode]) => !UNTOLD_MODES.has(mode));
	const told = modes.map(([mode, isSet]) => `\x1b[?${mode}${isSet ? "h" : "l"}`).join("");
	const title = scan.title === null ? "" : `\x1b]2;${scan.title}\x1b\\`;
	return { ...found, ...size, snapshot: new TextEncoder().encode(told + title) };
}

/** The event in which a byte is, if so many lines end from there on, which then fill the screen. */
async function lookAt(session: Session, offset: number, end: Mark, lines: number): Promise<Mark | undefined> {
	let first: Mark | undefined;
	let ended = 0;
	for await (const item of session.follow({ offset }, { isOwn: true })) {
		if (item.kind === "gap") return undefined;
		first ??= { seq: item.seq, offset: item.offset };
		if (item.kind === "output") ended += item.bytes.filter((byte) => byte === NEWLINE).length;
		if (ended >= lines) return first;
		if (item.seq + 1 >= end.seq) return undefined;
	}
	return undefined;
}

/** Of its terminal, as far as it is known now. */
export function sizeOf({ id, spec, state }: Session): Size {
	if (spec.mode === "pty") return state.size;
	throw new SessionError("unsupported", `session ${JSON.stringify(id)} has no terminal, and so no screen`, {
		hint: "read its output",
	});
}
