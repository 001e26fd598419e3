/**
 * What server and keeper say to each other. Fields and calls are only ever added; a change of meaning is a new
 * version. A keeper says what it can be asked, because it may be older or newer than its server.
 */

import type { Act, Receipt } from "../core/act.ts";
import type { Code } from "../core/errors.ts";
import { SessionError } from "../core/errors.ts";
import type { Event, Gap, Item, Mark, Start } from "../core/event.ts";
import type { Question, SessionDetails, SessionStart } from "../core/session.ts";
import type { State } from "../core/state.ts";
import { FRAME_LIMITS, FRAME_LIMITS_V1, type FrameLimits } from "./frames.ts";

/** The versions of the link that this build speaks, newest first. */
export const LINK_VERSIONS: readonly number[] = [2, 1];

/** What an end of that version takes in one frame. */
export function frameLimitsOf(version: number): FrameLimits {
	return version >= 2 ? FRAME_LIMITS : FRAME_LIMITS_V1;
}

/** How many bytes of a cursor's items may be on their way before the reader has taken them: less where there may be many that stand still. */
const WINDOW_BYTES = { lossless: 1024 * 1024, other: 512 * 1024 };
/** What an item counts in the window besides its bytes, so that small ones are bounded too. */
const ITEM_COST_BYTES = 128;

/** What a keeper needs to open its session. */
export type Opening = {
	readonly start: SessionStart;
	/** Where the session's records and journal go. */
	readonly directory: string;
	readonly fsync: "interval" | "always";
};

/** What is asked of a session, or of its keeper, and answered once. */
export type KeeperQuestion =
	| Question
	| ({ readonly do: "open" } & Opening)
	/** Whether anybody answers; not in version 1. */
	| { readonly do: "ping" }
	/** The keeper may go: its session has ended, or (`force`) is to be forgotten. */
	| { readonly do: "quit"; readonly force: boolean };

/** Whether a question may take any time to be answered, and whether asking twice does the same as asking once. */
type Nature = { readonly isLong: boolean; readonly isRepeatable: boolean };

export const questions: Readonly<Record<KeeperQuestion["do"], Nature>> = {
	info: { isLong: false, isRepeatable: true },
	end: { isLong: false, isRepeatable: true },
	scan: { isLong: false, isRepeatable: true },
	replies: { isLong: false, isRepeatable: true },
	untilCursorAsked: { isLong: true, isRepeatable: true },
	// Of an answer that was given nothing waits any more.
	reply: { isLong: false, isRepeatable: true },
	untilMuchDrawn: { isLong: true, isRepeatable: true },
	setSizePolicy: { isLong: false, isRepeatable: true },
	// With an origin: then the session recognises what it has.
	act: { isLong: false, isRepeatable: true },
	actIfWaiting: { isLong: false, isRepeatable: true },
	secret: { isLong: false, isRepeatable: true },
	receipt: { isLong: false, isRepeatable: true },
	forgetStream: { isLong: false, isRepeatable: true },
	acquire: { isLong: false, isRepeatable: false },
	release: { isLong: false, isRepeatable: true },
	leaseChange: { isLong: true, isRepeatable: true },
	controlSince: { isLong: false, isRepeatable: true },
	kill: { isLong: true, isRepeatable: true },
	// With an origin, as an act.
	run: { isLong: true, isRepeatable: true },
	commands: { isLong: false, isRepeatable: true },
	pulse: { isLong: true, isRepeatable: true },
	commandNews: { isLong: true, isRepeatable: true },
	inspect: { isLong: false, isRepeatable: true },
	untilWaiting: { isLong: true, isRepeatable: true },
	ping: { isLong: false, isRepeatable: true },
	open: { isLong: true, isRepeatable: false },
	quit: { isLong: true, isRepeatable: true },
};

function isActing(question: KeeperQuestion): question is Question<"act" | "actIfWaiting"> {
	return question.do === "act" || question.do === "actIfWaiting";
}

export function isRepeatable(question: KeeperQuestion): boolean {
	const isCommand = question.do === "run" && typeof question.command === "string";
	const isInput = isActing(question) || question.do === "secret";
	if ((isInput || isCommand) && question.options.origin === undefined) return false;
	return questions[question.do].isRepeatable;
}

/** A cursor: answered by its place, by items, and by a result when it has ended. */
export type Follow = {
	readonly do: "follow";
	readonly start: Start;
	readonly flow: "lossless" | "live" | null;
	readonly isPaced?: boolean;
};

/** How far an input stream is: answered by a receipt now and after each change, and by a result when there will be none. */
export type FollowReceipts = { readonly do: "receipts"; readonly stream: string };

export type StreamCall = Follow | FollowReceipts;
export type Call = KeeperQuestion | StreamCall;

/** What this build's keeper can be asked. */
export const CALLS: readonly Call["do"][] = [
	...(Object.keys(questions) as KeeperQuestion["do"][]),
	"follow",
	"receipts",
];

/** What a keeper of version 1 could be asked; it took anything else for done. */
export const CALLS_V1: readonly string[] = [
	"open",
	"info",
	"end",
	"act",
	"receipt",
	"acquire",
	"release",
	"leaseChange",
	"kill",
	"quit",
	"follow",
];

export function windowOf(flow: Follow["flow"]): number {
	return flow === "lossless" ? WINDOW_BYTES.lossless : WINDOW_BYTES.other;
}

export type ToKeeper =
	/** First of all. Of several servers the one with the highest generation is right. */
	| { readonly hello: { readonly versions: readonly number[]; readonly generation: number; readonly epoch: string } }
	| { readonly id: number; readonly call: Call }
	/** The reader has taken this much of call `id`. */
	| { readonly id: number; readonly credit: number }
	| { readonly id: number; readonly cancel: true };

export type WireError = { readonly code: Code; readonly message: string; readonly hint?: string };

/** An output event's bytes travel as the frame's body. */
export type WireItem =
	| Gap
	| (Mark & { readonly kind: string; readonly time: number; readonly [field: string]: unknown });

export type Welcome = {
	readonly version: number;
	readonly epoch: string;
	/** The session kept here; null in a spare. */
	readonly session: string | null;
	readonly state: State | null;
	/** Where the session's next event will stand; since version 2. */
	readonly end?: Mark | null;
	/** What can be asked here; since version 2. */
	readonly calls?: readonly string[];
	/** What `info` would answer now; some keepers of version 2 do not say it yet. */
	readonly details?: SessionDetails | null;
};

export type FromKeeper =
	| { readonly welcome: Welcome }
	/** Wrong epoch, old generation, no common version, or superseded by a newer server. The link closes after it. */
	| { readonly refused: WireError }
	/** Something happened to the session other than output. */
	| { readonly state: State }
	| { readonly id: number; readonly result: unknown }
	| { readonly id: number; readonly error: WireError }
	/** Where a cursor from the end begins, before its first item; since version 2. */
	| { readonly id: number; readonly place: Mark }
	| { readonly id: number; readonly item: WireItem }
	| { readonly id: number; readonly receipt: Receipt };

export function toWireError(thrown: unknown): WireError {
	const { code, message, hint } = SessionError.from(thrown);
	return { code, message, ...(hint === undefined ? {} : { hint }) };
}

export function fromWireError({ code, message, hint }: WireError): SessionError {
	return new SessionError(code, message, hint === undefined ? {} : { hint });
}

/** What a keeper says that is asked something it does not know. */
export function unknownCall(name: string): SessionError {
	return new SessionError("unsupported", `this session's keeper is of another version and can't do "${name}"`, {
		hint: "a new session can",
	});
}

/** The bytes of a write, or of a secret, travel as the frame's body. */
export function toWireQuestion(question: KeeperQuestion): { call: KeeperQuestion; body?: Uint8Array } {
	if (question.do === "secret") {
		const { bytes, ...call } = question;
		return { call: call as KeeperQuestion, body: bytes };
	}
	if (!isActing(question) || question.act.kind !== "write") return { call: question };
	const { bytes, ...act } = question.act;
	return { call: { ...question, act: act as Act }, body: bytes };
}

export function fromWireQuestion(call: KeeperQuestion, body: Uint8Array): KeeperQuestion {
	if (call.do === "secret") return { ...call, bytes: body };
	if (!isActing(call) || call.act.kind !== "write") return call;
	return { ...call, act: { kind: "write", bytes: body } };
}

export function toWireItem(item: Item): { item: WireItem; body?: Uint8Array } {
	if (item.kind !== "output") return { item };
	const { bytes, ...rest } = item;
	return { item: rest, body: bytes };
}

export function fromWireItem(item: WireItem, body: Uint8Array): Item {
	if (item.kind === "output") return { ...item, bytes: body } as unknown as Event;
	return item as Item;
}

/** What an item takes of the window; the reader gives back the same. */
export function costOf(item: Item): number {
	return ITEM_COST_BYTES + (item.kind === "output" ? item.bytes.byteLength : 0);
}
