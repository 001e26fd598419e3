/** A session in this terminal, from as early on as somebody wants to see it. */

import type { Session, SessionMessage } from "../client/index.ts";
import { attachTerminal } from "./attach-terminal.ts";
import type { Ending } from "./ending.ts";
import { UsageError } from "./errors.ts";
import type { Escape } from "./escape-keys.ts";
import { LocalTerminal } from "./local-terminal.ts";
import { remark } from "./output.ts";
import { ownSessions } from "./own-environment.ts";

export type AttachHere = {
	readonly view?: true;
	readonly take?: true;
	/** The first byte to show; by default what its terminal shows. */
	readonly since?: number | "end";
	readonly all?: true;
	readonly escape: Escape;
	/** How long the server may be away, in milliseconds. */
	readonly patience: number;
};

/** What is shown of a long history: some thousand lines, at once even over a slow line. */
const RECENT_BYTES = 256 * 1024;

export async function attachHere(session: Session, info: SessionMessage, flags: AttachHere): Promise<Ending> {
	const isFromScreen = !flags.all && flags.since === undefined && (await fits(session, info, flags));
	const since = flags.all ? info.offsets.oldest : (flags.since ?? recent(info));
	const isCut = flags.since === undefined && since !== info.offsets.oldest;
	if (isCut && !isFromScreen)
		remark(`earlier output is not shown (${since} bytes): hawser attach --all, or hawser logs`);
	return attachTerminal(session, {
		since,
		isFromScreen,
		isCut,
		liveFrom: info.offsets.end,
		isViewer: flags.view === true,
		take: flags.take === true,
		hasTerminal: info.mode === "pty",
		escapes: flags.escape,
		patienceMs: flags.patience,
	});
}

/** What is shown in a session is its output, and would be shown again. */
export function refuseOwn({ id, name }: SessionMessage): void {
	const own = ownSessions(process.env);
	if (!own.includes(id)) return;
	const where = own[0] === id ? "the session that you are in" : "a session around the one that you are in";
	throw new UsageError(
		`${name ?? id} is ${where}: it would be shown in itself without end; hawser logs shows its output`,
	);
}

/**
 * Whether the session's screen can be drawn in this terminal. Whoever will type into it gives it the size of this terminal
 * first, because a screen is only right in its own.
 */
async function fits(session: Session, { mode, state, size }: SessionMessage, { view }: AttachHere): Promise<boolean> {
	const here = LocalTerminal.sizeHere;
	if (mode !== "pty" || !here) return false;
	if (here.cols === size.cols && here.rows === size.rows) return true;
	if (view || state !== "running") return here.cols >= size.cols && here.rows >= size.rows;
	return session.resize(here).then(
		() => true,
		() => false,
	);
}

function recent({ offsets }: SessionMessage): number {
	return Math.max(offsets.oldest, offsets.end - RECENT_BYTES);
}
