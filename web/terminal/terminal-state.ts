/** The state of a terminal page, and how connection and lease events change it. Pure functions. */

import type { ConnectionEvent, HawserError, SessionMessage } from "hawser/client";
import type { Size } from "./emulator.ts";

export type Connection =
	| { readonly kind: "connecting" }
	| { readonly kind: "live"; readonly reconnected: Reconnected | undefined }
	/** Monotonic times of the loss and of the next attempt. */
	| { readonly kind: "away"; readonly since: number; readonly retryAt: number }
	/** Ended for good. */
	| { readonly kind: "over"; readonly error: HawserError };

/** How long the connection was lost, and when it came back (monotonic). */
export type Reconnected = { readonly afterMs: number; readonly at: number; readonly missedBytes: number };

/** Input permission of this page: shared, exclusive to it, exclusive to another client, or view only. */
export type Control =
	| { readonly kind: "shared" | "mine" | "view-only" }
	| { readonly kind: "other"; readonly holder: string | null; readonly takenAt: number | undefined };

export type TerminalState = {
	readonly connection: Connection;
	/** The latest info from the server. */
	readonly session: SessionMessage;
	readonly size: Size;
	/** The size that fits this page. */
	readonly room: Size | undefined;
	readonly control: Control;
	/** Keys not sent because another client has control. */
	readonly refusedKeys: number;
	/** Time until the program accepted the last input. */
	readonly latencyMs: number | undefined;
	readonly title: string;
	/** Output offset up to what is displayed. */
	readonly offset: number | undefined;
	/** Bytes of output skipped since this page attached. */
	readonly missedBytes: number;
	readonly isScrolledBack: boolean;
	readonly isEnded: boolean;
	/** Monotonic time when the user asked for an earlier command and none was known. */
	readonly unknownCommandAt: number | undefined;
	/** Text that waits for confirmation: a paste, or a clipboard write. */
	readonly paste: string | undefined;
	readonly clipboard: string | undefined;
};

/** The state before the first event. */
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
		offset: session.offsets?.end,
		missedBytes: 0,
		isScrolledBack: false,
		isEnded: false,
		unknownCommandAt: undefined,
		paste: undefined,
		clipboard: undefined,
	};
}

/** Applies a connection event; `now` is monotonic time. */
export function applyConnection(
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
	return { connection: { kind: "live", reconnected: isBack }, session, control: known };
}

export type Lease = { readonly mine: boolean; readonly exclusive: boolean; readonly holder: string | null };

/** Applies a lease event. Control was taken from us if it was ours, or if we typed while it was shared. */
export function applyLease(
	{ control: was }: TerminalState,
	{ mine, exclusive, holder }: Lease,
	{ hasTyped, now }: { readonly hasTyped: boolean; readonly now: number },
): Partial<TerminalState> {
	if (!exclusive) return { control: { kind: "shared" }, refusedKeys: 0 };
	if (mine) return { control: { kind: "mine" }, refusedKeys: 0 };
	const takenAt = was.kind === "mine" || (was.kind === "shared" && hasTyped) ? now : undefined;
	return { control: { kind: "other", holder, takenAt }, refusedKeys: 0 };
}

function controlOf({ lease }: SessionMessage, canType: boolean): Control {
	if (!canType) return { kind: "view-only" };
	return lease.exclusive ? { kind: "other", holder: lease.holder, takenAt: undefined } : { kind: "shared" };
}
