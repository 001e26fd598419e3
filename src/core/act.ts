/** What is done to a session's program, which act of which input stream it is, and how far that stream has come. */

import type { Size } from "./event.ts";

/** One thing done to a process. Everything but a write takes one unit of its input stream. */
export type Act =
	| { readonly kind: "write"; readonly bytes: Uint8Array }
	| { readonly kind: "resize"; readonly size: Size }
	/** An urgent one overtakes input that is still waiting. */
	| { readonly kind: "signal"; readonly signal: string; readonly urgent?: boolean }
	| { readonly kind: "eof" };

/** Which act this is, so that a repeat is recognised, for an hour after the stream was last used; without it an act counts as new. */
export type Origin = {
	readonly stream: string;
	readonly position: number;
};

export type ActOptions = {
	readonly origin?: Origin;
	/** Of the lease under which this is done. */
	readonly fence?: number;
};

/** What is typed by several acts of one stream, and where it begins there. */
export type TypedWhole = { readonly bytes: Uint8Array; readonly origin: Origin };

/** How far an input stream has come: `next` is the position wanted, `written` what the kernel took. */
export type Receipt = {
	readonly next: number;
	readonly written: number;
	/** How many bytes of it would be accepted now: what its window holds, unless other streams fill the queue. */
	readonly room: number;
	/** In the answer to an act: how many units of that were new and taken. Keepers that are older do not say it. */
	readonly accepted?: number;
	/** There too: where the output ended before the act was accepted, also for a repeat of one of the stream's newest. */
	readonly from?: number;
};
