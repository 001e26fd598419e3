/** What can happen in a session. Everything a reader can ever learn about one is an `Event`. */

/** Which of a program's outputs the bytes came from; a terminal has only one. */
export type Stream = "stdout" | "stderr" | "pty";

export type Size = { readonly cols: number; readonly rows: number };

/** Why a program ended when it did not end by itself. */
type EndReason = "timeout" | "idle" | "killed" | "oom";

/** The wait status: exactly one of `code` and `signal` is set, and neither is ever made up. */
export type Exit = {
	readonly code: number | null;
	readonly signal: string | null;
	readonly reason?: EndReason;
	/** Who asked for the end, where a caller did. */
	readonly by?: string;
};

export type Fact =
	| { readonly kind: "output"; readonly stream: Stream; readonly bytes: Uint8Array }
	| { readonly kind: "resized"; readonly size: Size }
	/** The program was reaped; what it left in the terminal or the pipes may still follow. */
	| { readonly kind: "exited"; readonly exit: Exit }
	/**
	 * No more output will come; `isCutShort` if somebody else still held it when the drain time was over. Always the last
	 * event, and never before `exited`.
	 */
	| { readonly kind: "closed"; readonly isCutShort?: true }
	/** Whoever held the process is gone and its fate is unknown. Always the last event. */
	| { readonly kind: "lost"; readonly message: string };

/** Where an event stands: `seq` counts events from 1, `offset` the output bytes before it from 0. */
export type Mark = { readonly seq: number; readonly offset: number };

/** A fact in its place. `time` is in milliseconds since the epoch. */
export type Event = Fact & Mark & { readonly time: number };

/**
 * Events that a reader should have had and can't have any more: the bytes from `from` up to `to`.
 * `retention`: dropped to stay within the limits; `live`: skipped for a reader that may be moved
 * forward; `journal`: damaged on disk, or never written because the disk failed.
 */
export type Gap = {
	readonly kind: "gap";
	readonly reason: "retention" | "live" | "journal";
	readonly from: number;
	readonly to: number;
	/** The number of the event that follows the gap. */
	readonly nextSeq: number;
};

/** What a cursor yields. */
export type Item = Event | Gap;

/** Where to begin reading: at an event, at an output byte, or with what comes next. */
export type Start = { readonly seq: number } | { readonly offset: number } | "end";

/** Somewhere in a log, as people say it: a byte of the output, or a moment in milliseconds since the epoch. */
export type LogPlace = { readonly offset: number } | { readonly time: number };

/** Output bytes an event carries. */
export function byteLength(event: Fact): number {
	return event.kind === "output" ? event.bytes.byteLength : 0;
}

/** Whether nothing can follow this fact. */
export function isFinal(fact: Fact): boolean {
	return fact.kind === "closed" || fact.kind === "lost";
}
