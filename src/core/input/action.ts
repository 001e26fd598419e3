/** Actions on a session's program, and receipts for them. */

import type { Size } from "../../words/state.ts";

/** One action on a program. Every action except a write takes one unit of its input stream. */
export type Action =
	| { readonly kind: "write"; readonly bytes: Uint8Array }
	| { readonly kind: "resize"; readonly size: Size }
	/** An urgent signal overtakes input that still waits. */
	| { readonly kind: "signal"; readonly signal: string; readonly urgent?: boolean }
	| { readonly kind: "eof" };

/**
 * Identifies an action for retries, until its stream has been unused for an hour. An action without one is always new.
 */
export type StreamPosition = {
	readonly stream: string;
	readonly position: number;
};

export type ActOptions = {
	readonly origin?: StreamPosition;
	/** Fence of the lease that this action is done under. */
	readonly fence?: number;
	/** Without this, the part that the stream already has is dropped. */
	readonly exact?: Exact;
};

/**
 * Restricts an action to the part from this position of its stream on. If the stream has moved, the action fails with
 * `conflict`. An action that the stream has as a whole still counts as a repeat.
 */
export type Exact = {
	/** Zero without an origin. */
	readonly from: number;
	/** Fails if there is no room for the whole part. Otherwise its beginning may be accepted. */
	readonly isWhole: boolean;
};

/** Text that is typed by several actions of one stream, and its position there. */
export type SplitText = { readonly bytes: Uint8Array; readonly origin: StreamPosition };

/** Progress of an input stream: `next` is the next expected position, `written` how far the kernel has taken it. */
export type Receipt = {
	readonly next: number;
	readonly written: number;
	/** Bytes that would be accepted now: the rest of the window, or less while other streams fill the queue. */
	readonly room: number;
	/** In the response to an action: the number of new units accepted. */
	readonly accepted?: number;
	/**
	 * In the response to an action: the output offset when it was accepted. A repeat of a recent action gets the same
	 * one.
	 */
	readonly from?: number;
};

/** Identifies the prompt that a secret answers. With neither field, the current prompt. */
export type PromptIdentity = {
	/** The output offset at the prompt. Ambiguous if a line was typed there since. */
	readonly at?: number | undefined;
	/** The episode of the prompt (see `Inspection`): the same program, which has not continued since. */
	readonly episode?: number | undefined;
};

/** Keys that end a line or interrupt a program: Enter, newline, ^C and ^D. */
const TURN_KEYS = [0x0d, 0x0a, 0x03, 0x04];

/** Whether a program that waits after this action waits for something new. */
export function startsNewWait(act: Action): boolean {
	if (act.kind === "write") return TURN_KEYS.some((key) => act.bytes.includes(key));
	return act.kind !== "resize";
}
