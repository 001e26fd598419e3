/**
 * The messages between server and keeper. Fields and requests are only added; a change of meaning needs a new version.
 * A keeper lists the requests that it supports, because it may be older or newer than its server.
 */

import { SessionError } from "../../core/errors.ts";
import type { Action, Receipt } from "../../core/input/action.ts";
import type { LogPosition, Start } from "../../core/log/event.ts";
import type { State } from "../../core/log/session-state.ts";
import type { OperationRequest } from "../../core/session/operations.ts";
import type { SessionDetails, SessionStart } from "../../core/session/session-info.ts";
import type { Code } from "../../words/error-code.ts";
import type { WireItem } from "./link.ts";

/** The versions of the link that this build supports, newest first. Version 3 is the first released one. */
export const LINK_VERSIONS: readonly number[] = [3];

/** Parameters for starting a session in a keeper. */
export type OpenRequest = {
	readonly start: SessionStart;
	/** Directory of the session's record and journal. */
	readonly directory: string;
	readonly fsync: "interval" | "always";
};

/** Requests to a session or its keeper that have one response. */
export type KeeperRequest =
	| OperationRequest
	| ({ readonly do: "open" } & OpenRequest)
	/** Checks that the keeper responds. */
	| { readonly do: "ping" }
	/** The keeper may exit: its session has ended, or (`force`) is being deleted. */
	| { readonly do: "quit"; readonly force: boolean };

/** Whether a request may take any time, and whether repeating it has no further effect. */
type Nature = { readonly isLong: boolean; readonly isRepeatable: boolean };

export const requestTraits: Readonly<Record<KeeperRequest["do"], Nature>> = {
	info: { isLong: false, isRepeatable: true },
	end: { isLong: false, isRepeatable: true },
	scan: { isLong: false, isRepeatable: true },
	replies: { isLong: false, isRepeatable: true },
	untilCursorAsked: { isLong: true, isRepeatable: true },
	// A query that was answered is no longer pending.
	reply: { isLong: false, isRepeatable: true },
	untilRedrawDue: { isLong: true, isRepeatable: true },
	setSizePolicy: { isLong: false, isRepeatable: true },
	// With an origin, because the session then recognizes repeats.
	act: { isLong: false, isRepeatable: true },
	actIfWaiting: { isLong: false, isRepeatable: true },
	secret: { isLong: false, isRepeatable: true },
	receipt: { isLong: false, isRepeatable: true },
	forgetStream: { isLong: false, isRepeatable: true },
	acquire: { isLong: false, isRepeatable: false },
	release: { isLong: false, isRepeatable: true },
	leaseChange: { isLong: true, isRepeatable: true },
	controlChanges: { isLong: false, isRepeatable: true },
	kill: { isLong: true, isRepeatable: true },
	// With an origin, as for an action.
	run: { isLong: true, isRepeatable: true },
	commands: { isLong: false, isRepeatable: true },
	outputActivity: { isLong: true, isRepeatable: true },
	commandEvents: { isLong: true, isRepeatable: true },
	signals: { isLong: true, isRepeatable: true },
	reportHook: { isLong: false, isRepeatable: true },
	inspect: { isLong: false, isRepeatable: true },
	untilWaiting: { isLong: true, isRepeatable: true },
	ping: { isLong: false, isRepeatable: true },
	open: { isLong: true, isRepeatable: false },
	quit: { isLong: true, isRepeatable: true },
};

function isActing(request: KeeperRequest): request is OperationRequest<"act" | "actIfWaiting"> {
	return request.do === "act" || request.do === "actIfWaiting";
}

export function isRepeatable(request: KeeperRequest): boolean {
	const isCommand = request.do === "run" && typeof request.command === "string";
	const isInput = isActing(request) || request.do === "secret";
	if ((isInput || isCommand) && request.options.origin === undefined) return false;
	return requestTraits[request.do].isRepeatable;
}

/** Follows the log: answered by a position, items, and a result at the end. */
export type Follow = {
	readonly do: "follow";
	readonly start: Start;
	readonly flow: "lossless" | "live" | null;
	readonly isPaced?: boolean;
};

/** Follows an input stream: answered by a receipt now and after each change, and by a result at the end. */
export type FollowReceipts = { readonly do: "receipts"; readonly stream: string };

export type StreamCall = Follow | FollowReceipts;
export type Call = KeeperRequest | StreamCall;

/** The requests that this build's keeper supports. */
export const CALLS: readonly Call["do"][] = [
	...(Object.keys(requestTraits) as KeeperRequest["do"][]),
	"follow",
	"receipts",
];

export type ToKeeper =
	/** The first message. The server with the highest generation is in charge. */
	| { readonly hello: { readonly versions: readonly number[]; readonly generation: number; readonly epoch: string } }
	| { readonly id: number; readonly call: Call }
	/** The reader has consumed this much of call `id`. */
	| { readonly id: number; readonly credit: number }
	| { readonly id: number; readonly cancel: true };

type WireError = { readonly code: Code; readonly message: string; readonly hint?: string };

export type WelcomedSession = {
	readonly id: string;
	readonly state: State;
	/** Position of the session's next event. */
	readonly end: LogPosition;
	/** The current result of `info`. */
	readonly details: SessionDetails;
};

export type Welcome = {
	readonly version: number;
	readonly epoch: string;
	/** The requests that this keeper supports. */
	readonly calls: readonly string[];
	/** The keeper's session; null in a spare. */
	readonly session: WelcomedSession | null;
};

export type FromKeeper =
	| { readonly welcome: Welcome }
	/** Wrong epoch, old generation, no common version, or superseded by a newer server. The link closes afterwards. */
	| { readonly refused: WireError }
	/** The session's state has changed; `end` is the position of its next event. */
	| { readonly state: State; readonly end: LogPosition }
	/** The session's directory was deleted, moved or replaced: its path no longer leads to what the keeper stores. */
	| { readonly isRemoved: true }
	/** No process of the session's program is left. */
	| { readonly isGone: true }
	| { readonly id: number; readonly result: unknown }
	| { readonly id: number; readonly error: WireError }
	/** The position at which a cursor from the end begins, before its first item. */
	| { readonly id: number; readonly place: LogPosition }
	| { readonly id: number; readonly item: WireItem }
	| { readonly id: number; readonly receipt: Receipt };

export function toWireError(thrown: unknown): WireError {
	const { code, message, hint } = SessionError.from(thrown);
	return { code, message, ...(hint === undefined ? {} : { hint }) };
}

export function fromWireError({ code, message, hint }: WireError): SessionError {
	return new SessionError(code, message, hint === undefined ? {} : { hint });
}

/** The error for a request that the keeper does not support. */
export function unknownRequestError(name: string): SessionError {
	return new SessionError("unsupported", `this session's keeper has another version and does not support "${name}"`, {
		hint: "start a new session",
	});
}

/** The bytes of a write or of a secret are sent as the frame's body. */
export function toWireQuestion(request: KeeperRequest): { call: KeeperRequest; body?: Uint8Array } {
	if (request.do === "secret") {
		const { bytes, ...call } = request;
		return { call: call as KeeperRequest, body: bytes };
	}
	if (!isActing(request) || request.act.kind !== "write") return { call: request };
	const { bytes, ...act } = request.act;
	return { call: { ...request, act: act as Action }, body: bytes };
}

export function fromWireQuestion(call: KeeperRequest, body: Uint8Array): KeeperRequest {
	if (call.do === "secret") return { ...call, bytes: body };
	if (!isActing(call) || call.act.kind !== "write") return call;
	return { ...call, act: { kind: "write", bytes: body } };
}
