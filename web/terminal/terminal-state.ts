/** What is known of a session in a terminal of the page, and how news of its connection and of control change that: pure. */

import type { ConnectionEvent, HawserError, SessionMessage } from "hawser/client";
import type { Size } from "./emulator.ts";

export type Connection =
	| { readonly kind: "connecting" }
	| { readonly kind: "live"; readonly isBack: Back | undefined }
	/** By the monotonic clock: since when, and when the next attempt is made. */
	| { readonly kind: "away"; readonly since: number; readonly retryAt: number }
	/** For good. */
	| { readonly kind: "over"; readonly error: HawserError };

/** After how long, and when by the monotonic clock. */
export type Back = { readonly afterMs: number; readonly at: number; readonly missedBytes: number };

/** Who may type: all who may write, we alone, somebody else alone, or not we. */
export type Control =
	| { readonly kind: "shared" | "mine" | "watching" }
	| { readonly kind: "theirs"; readonly holder: string | null; readonly takenAt: number | undefined };

export type TerminalState = {
	readonly connection: Connection;
	/** As it was told last. */
	readonly session: SessionMessage;
	readonly size: Size;
	/** How large it could be here. */
	readonly room: Size | undefined;
	readonly control: Control;
	/** How many keys were not sent since somebody else has control. */
	readonly refusedKeys: number;
	/** How long the program's side took to accept what was typed last. */
	readonly latencyMs: number | undefined;
	readonly title: string;
	/** Bytes of the output, up to what is shown. */
	readonly offset: number;
	/** What was not shown of the output since this page is attached. */
	readonly missedBytes: number;
	readonly isScrolledBack: boolean;
	readonly isEnded: boolean;
	/** When somebody wanted to go to an earlier command and none was known, by the monotonic clock. */
	readonly unknownCommandAt: number | undefined;
	/** Text that awaits a yes: to be pasted, or to be put on the clipboard. */
	readonly paste: string | undefined;
	readonly clipboard: string | undefined;
};

/** Before anything was heard. */
export function stateOf(session: SessionMessage, room: Size | undefined, canType: boolean): TerminalState {
	return {
		connection: { kind: "connecting" },
		session,
		size: session.size,
		room,
		control: controlOf(session, canType),
		refusedKeys: 0,
		latencyMs: undefined,
		title: "",
		offset: session.offsets.end,
		missedBytes: 0,
		isScrolledBack: false,
		isEnded: false,
		unknownCommandAt: undefined,
		paste: undefined,
		clipboard: undefined,
	};
}

/** What the connection's news change; `now` is of the monotonic clock. */
export function connectionNews(
	{ connection, missedBytes, control }: TerminalState,
	event: ConnectionEvent,
	{ canType, now }: { readonly canType: boolean; readonly now: number },
): Partial<TerminalState> {
	if (event.state === "disconnected") {
		const since = connection.kind === "away" ? connection.since : now;
		return { connection: { kind: "away", since, retryAt: now + event.retryMs } };
	}
	const isBack = connection.kind === "away" ? { afterMs: now - connection.since, at: now, missedBytes } : undefined;
	const { session } = event;
	const known = control.kind === "mine" ? control : controlOf(session, canType);
	return { connection: { kind: "live", isBack }, session, control: known };
}

export type Lease = { readonly mine: boolean; readonly exclusive: boolean; readonly holder: string | null };

/** What it changes who may type. It was taken from us if it was ours, or if we have typed while all might. */
export function leaseNews(
	{ control: was }: TerminalState,
	{ mine, exclusive, holder }: Lease,
	{ hasTyped, now }: { readonly hasTyped: boolean; readonly now: number },
): Partial<TerminalState> {
	if (!exclusive) return { control: { kind: "shared" }, refusedKeys: 0 };
	if (mine) return { control: { kind: "mine" }, refusedKeys: 0 };
	const takenAt = was.kind === "mine" || (was.kind === "shared" && hasTyped) ? now : undefined;
	return { control: { kind: "theirs", holder, takenAt }, refusedKeys: 0 };
}

function controlOf({ lease }: SessionMessage, canType: boolean): Control {
	if (!canType) return { kind: "watching" };
	return lease.exclusive ? { kind: "theirs", holder: lease.holder, takenAt: undefined } : { kind: "shared" };
}
