/** The events of a session's log. */

import type { Exit, Size, Stream } from "../../words/state.ts";

export type Fact =
	| { readonly kind: "output"; readonly stream: Stream; readonly bytes: Uint8Array }
	| { readonly kind: "resized"; readonly size: Size }
	/** The program was reaped. Output left in the terminal or the pipes may still follow. */
	| { readonly kind: "exited"; readonly exit: Exit }
	/**
	 * No more output will come. Always the last event, and never before `exited`. `isCutShort` if another process still
	 * held the output open when the drain time ran out.
	 */
	| { readonly kind: "closed"; readonly isCutShort?: true }
	/** The keeper is gone and the fate of the program is unknown. Always the last event. */
	| { readonly kind: "lost"; readonly message: string };

/** Position of an event: `seq` counts events from 1, `offset` is the number of output bytes before it. */
export type LogPosition = { readonly seq: number; readonly offset: number };

/** Position of the first event. */
export const LOG_START: LogPosition = { seq: 1, offset: 0 };

/** A fact with its position. `time` is in milliseconds since the epoch. */
export type Event = Fact & LogPosition & { readonly time: number };

/**
 * Events that the reader can no longer get: the bytes from `from` up to `to`. `retention`: dropped to stay within the
 * limits. `live`: skipped because the reader was too far behind. `journal`: damaged on disk, or never written because
 * the disk failed.
 */
export type Gap = {
	readonly kind: "gap";
	readonly reason: "retention" | "live" | "journal";
	readonly from: number;
	readonly to: number;
	/** Number of the event after the gap. */
	readonly nextSeq: number;
};

/** Whether a gap has no bytes. A reader of the output misses nothing then. */
export function isEmptyGap(item: Item): boolean {
	return item.kind === "gap" && item.from === item.to;
}

/** An item that a cursor yields. */
export type Item = Event | Gap;

/**
 * A reader's position: before an event, or before a byte whose event is not known yet. A number alone is not enough: if
 * the event is gone, only the offset says which bytes are missing.
 */
export type Place = LogPosition | { readonly offset: number };

/** Where to begin reading: at a position, or with the next event. */
export type Start = Place | "end";

/** A point in a log as callers name it: an offset in the output, or a time in milliseconds since the epoch. */
export type OffsetOrTime = { readonly offset: number } | { readonly time: number };

/** Output bytes an event carries. */
export function byteLength(event: Fact): number {
	return event.kind === "output" ? event.bytes.byteLength : 0;
}

/** Whether nothing can follow this fact. */
export function isFinal(fact: Fact): boolean {
	return fact.kind === "closed" || fact.kind === "lost";
}
