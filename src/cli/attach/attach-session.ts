/** Attaches this terminal to a session. */

import { offsetsOf, type Session, type SessionMessage } from "../../client/index.ts";
import { enclosingSessions } from "../connect/caller-environment.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import type { EscapePrefixes } from "./escape-keys.ts";
import { attachTerminal } from "./on-terminal.ts";
import type { Outcome } from "./outcome.ts";

export type AttachHere = {
	readonly view?: true;
	readonly take?: true;
	/** First byte to show; the default is the session's screen. */
	readonly since?: number | "end";
	readonly all?: true;
	readonly escape: EscapePrefixes;
	/** How long to wait for an unreachable server, in milliseconds. */
	readonly reconnectTimeout: number;
};

/** Output shown of a long history: some thousand lines, fast even over a slow connection. */
const RECENT_BYTES = 256 * 1024;

export async function attachSession(session: Session, info: SessionMessage, flags: AttachHere): Promise<Outcome> {
	const offsets = offsetsOf(info);
	const isFromScreen = !flags.all && flags.since === undefined && (await canShowScreen(session, info, flags));
	const since = flags.all ? offsets.oldest : (flags.since ?? Math.max(offsets.oldest, offsets.end - RECENT_BYTES));
	const isCut = flags.since === undefined && since !== offsets.oldest;
	if (isCut && !isFromScreen)
		printNotice(`skipped ${since} bytes of earlier output; show them with hawser attach --all or hawser logs`);
	return attachTerminal(session, {
		since,
		isFromScreen,
		startsMidLine: isCut,
		replayEnd: offsets.end,
		isViewer: flags.view === true,
		take: flags.take === true,
		hasTerminal: info.mode === "pty",
		escapes: flags.escape,
		reconnectTimeoutMs: flags.reconnectTimeout,
	});
}

/** Attaching a session to itself would loop: it would show its own output. */
export function rejectEnclosingSession({ id, name }: SessionMessage): void {
	const own = enclosingSessions(process.env);
	if (!own.includes(id)) return;
	const where = own[0] === id ? "the session you are in" : "a session that contains the one you are in";
	throw new UsageError(`${name ?? id} is ${where}; attaching would loop (read it with hawser logs)`);
}

/**
 * Whether the session's screen can be rendered in this terminal. A writer resizes the session to this terminal first.
 */
async function canShowScreen(
	session: Session,
	{ mode, state, size }: SessionMessage,
	{ view }: AttachHere,
): Promise<boolean> {
	const here = LocalTerminal.currentSize;
	if (mode !== "pty" || !here) return false;
	if (here.cols === size.cols && here.rows === size.rows) return true;
	if (view || state !== "running") return here.cols >= size.cols && here.rows >= size.rows;
	return session.resize(here).then(
		() => true,
		() => false,
	);
}
